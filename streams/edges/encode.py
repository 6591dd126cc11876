"""From the protocol's JSON to a record: checked, keyed, Avro."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import Problem, ShapeError, Unencodable, encode, from_json
from streams.edges.kinds import DROPPED_KEYS, KINDS, Kind, check
from streams.edges.masked import Blocks, masked
from streams.engine.records import Headers, Output
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.masker import masker_for
from streams.settings import Settings
from topology import keys, topics
from topology.declarations import Topic


class Edge(NamedTuple):
    """A topic that users may write, and what its envelopes are."""

    topic: Topic
    kind: Kind


EDGES: Mapping[str, Edge] = {
    edge.topic.name: edge
    for edge in (
        Edge(topics.APC_PACKETS, KINDS["apc.packet"]),
        Edge(topics.SAOP_TURNS, KINDS["saop.turn"]),
        Edge(topics.RTES_RAW, KINDS["rtes.event"]),
        Edge(topics.SAOP_REWINDS, KINDS["saop.rewind"]),
        Edge(topics.SAP_TASKS, KINDS["sap.task"]),
        Edge(topics.SAP_RESULTS, KINDS["sap.result"]),
        Edge(topics.SAP_SIGNALS, KINDS["sap.signal"]),
        Edge(topics.ASAP_ENVELOPES, KINDS["asap.envelope"]),
        Edge(topics.ASAP_MANIFESTS, KINDS["asap.manifest"]),
        Edge(topics.SUMMIT_MANIFESTS, KINDS["summit.manifest"]),
        Edge(topics.SUMMIT_CALLS, KINDS["summit.call"]),
        Edge(topics.SUMMIT_REPLIES, KINDS["summit.reply"]),
    )
}


def edge_of(topic: str) -> Edge:
    """By name without prefix.  Raises UsageError for a topic that users may not write."""
    if topic not in EDGES:
        known = any(declared.name == topic for declared in topics.ALL)
        what = "is written by the service only" if known else "is not a topic of headrace"
        raise UsageError(f"{topic} {what}", advice=f"Topics to send to: {', '.join(EDGES)}.")
    return EDGES[topic]


def to_output(
    edge: Edge, value: Any, now_ms: int, settings: Settings, blocks: Blocks | None = None
) -> Output:
    """What the edge produces for a value, its secrets masked.

    blocks: what one producer has open, so that a private key is known by its first line; without
    it every value stands alone.

    Raises InvalidInput with the rules that it breaks, OutputTooLarge above the record limit.
    """
    prepared, problems = check(edge.kind, value, now_ms, settings)
    if problems:
        raise InvalidInput(problems)
    value, dropped = prepared
    value = edge.kind.form(value)
    if edge.kind.secret:
        value = masked(value, masker_for(settings), now_ms, blocks or Blocks())
    headers = [(DROPPED_KEYS, str(dropped).encode())] if dropped else []
    return as_it_is(edge.topic, value, settings, headers)


def as_it_is(topic: Topic, value: Any, settings: Settings, headers: Headers = ()) -> Output:
    """The record of a value of which only Avro itself has to approve.

    Raises InvalidInput when Avro cannot carry it.
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
