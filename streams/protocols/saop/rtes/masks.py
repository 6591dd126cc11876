"""What of an event is masked, and when (spec 5.4, 4.7).

Masked twice, for two purposes.  Without the session's key block, for the content hash: then a
resend is the same event whether an edge has masked it or not.  With it, for the record: the lines
of a private key look like secrets only to who has seen its first line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from schemas import canonical_json
from schemas.rtes import content_hash
from streams.engine.processor import AvroValue
from streams.masking import Block, Masker
from streams.protocols.saop.rtes.inbound import Event, Json
from streams.protocols.saop.rtes.scene import Scene

PULSE = "headrace.rtes.SandboxPulse"
INVOKED = "headrace.rtes.ToolInvoked"

_KEY_BEGINS = "-----BEGIN PRIVATE KEY-----"
_RUN = re.compile(r"[A-Za-z0-9+/=]{32}")
_MAY_OPEN = ("BEGIN", "pem_open", "\x1b")
"""A line without any of these opens no key block; colours may stand within a marker."""


class Masked(NamedTuple):
    """An event masked without the session's key block.

    payload: its Avro payload.  json: its JSON payload.  tokens: leaves of the arguments that hold
    a token.
    """

    payload: AvroValue
    json: Json
    tokens: int = 0


def stateless(event: Event, masker: Masker) -> Masked:
    payload, shown = event.payload, event.json["payload"]
    if event.name == PULSE:
        line = masker.text(payload["line"])
        changed = {"line": line, "masked": payload["masked"] or line != payload["line"]}
        return Masked(payload | changed, shown | changed)
    if event.name == INVOKED:
        arguments, tokens = masker.arguments(shown["arguments"])
        text = canonical_json(arguments).decode()
        return Masked(payload | {"arguments_json": text}, shown | {"arguments": arguments}, tokens)
    return Masked(payload, shown)


def digest(event: Event, masked: Masked) -> str:
    """The content hash of the event so masked."""
    return content_hash({**event.json, "payload": masked.json})


def for_record(event: Event, masked: Masked, masker: Masker, scene: Scene) -> AvroValue:
    """The payload as it is recorded; the scene's key block goes on."""
    if event.name != PULSE:
        return masked.payload
    line, row = event.payload["line"], scene.session["key_block"]
    if row is None and not any(map(line.__contains__, _MAY_OPEN)):
        return masked.payload
    shown, block = masker.pulse(line, _block(row), event.at)
    scene.session["key_block"] = _row(block)
    return masked.payload | {"line": shown, "masked": event.payload["masked"] or shown != line}


def for_rejection(event: Event, masked: Masked, masker: Masker, scene: Scene) -> Json:
    """The JSON event as a rejection keeps it; the scene's key block stays where it is.

    A line with a long run of a key's characters is masked as if a block were open: the line that
    it repeats may have been one of a key's, and nothing tells any more.
    """
    shown = masked.json
    if event.name == PULSE:
        sent, block = event.payload["line"], _block(scene.session["key_block"])
        if block is None and _RUN.search(sent):
            _, block = masker.pulse(_KEY_BEGINS, None, event.at)
        line, _ = masker.pulse(sent, block, event.at)
        shown = shown | {"line": line, "masked": shown["masked"] or line != sent}
    return {**event.json, "payload": shown}


def _block(row: AvroValue | None) -> Block | None:
    return None if row is None else Block(row["opened_at"], row["pulses"], row["prefix"])


def _row(block: Block | None) -> AvroValue | None:
    if block is None:
        return None
    return {"opened_at": block.opened_ms, "pulses": block.pulses, "prefix": block.prefix}
