"""Conversion of a protocol's JSON to a record: validated, keyed and encoded as Avro."""

from __future__ import annotations

from typing import Any

from schemas import Problem, ShapeError, Unencodable, encode, from_json
from streams.engine.records import Headers, Output
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.masking.configured import masker_for
from streams.processing.ingress import IngressTopic, check
from streams.processing.key_blocks import Blocks
from streams.settings.masking import MaskingSettings
from streams.settings.service import ServiceSettings
from topology import keys
from topology.core import DROPPED_KEYS, FILLED
from topology.declarations import Topic


def to_output(
    edge: IngressTopic,
    value: Any,
    now_ms: int,
    settings: ServiceSettings,
    blocks: Blocks | None = None,
) -> Output:
    """Return the record that the edge produces for a value, with its secrets masked.

    blocks: the open private key blocks of one producer, so that a private key sent line by line is
    recognised by its first line; without it every value is masked alone.

    Raises InvalidInput with the violated rules, OutputTooLarge above the record limit.
    """
    prepared, problems = check(edge.kind, value, now_ms, settings)
    if problems:
        raise InvalidInput(problems)
    value, dropped, filled = prepared
    value = edge.kind.form(value)
    if edge.kind.mask is not None:
        masker = masker_for(MaskingSettings.of(settings))
        value = edge.kind.mask(value, masker, now_ms, blocks or Blocks())
    headers = [(DROPPED_KEYS.name, str(dropped).encode())] if dropped else []
    if filled:
        headers.append((FILLED.name, ",".join(filled).encode()))
    return encode_value(edge.topic, value, settings, headers)


def encode_value(
    topic: Topic, value: Any, settings: ServiceSettings, headers: Headers = ()
) -> Output:
    """Return the record of a value that only its Avro schema validates.

    Raises InvalidInput if the value does not fit the Avro schema.
    """
    if topic.record is None:
        raise UsageError(f"{topic.name} holds raw bytes, which have no JSON form")
    try:
        body = encode(topic.record, from_json(topic.record, value))
        key = keys.key_of(topic, value).encode()
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc
    except Unencodable as exc:
        raise InvalidInput([Problem("member_type", "", str(exc))]) from exc
    if len(body) > settings.max_record_bytes:
        raise OutputTooLarge(
            f"the record has {len(body)} bytes, {settings.max_record_bytes} are allowed"
        )
    return Output(settings.prefix + topic.name, key, body, headers)
