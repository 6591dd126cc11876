"""The masking of events (SAOP guide, 5.4, 4.7): one rule for each type of event.

An edge masks what it produces.  The processor masks every event twice.  For the content hash it
masks without the session's key block: then a resent event has the same hash whether an edge has
masked it or not.  For the record it masks with the block: only after its first line are the lines
of a private key recognised as secrets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from schemas import canonical_json
from schemas.rtes import content_hash
from streams.engine.processor import AvroValue
from streams.masking import Block, Masker
from streams.processing.key_blocks import Blocks
from streams.protocols.saop.rtes.event import Event, Json
from streams.protocols.saop.rtes.session import SessionState

_KEY_BEGINS = "-----BEGIN PRIVATE KEY-----"
_RUN = re.compile(r"[A-Za-z0-9+/=]{32}")
_MAY_OPEN = ("BEGIN", "pem_open", "\x1b")
"""A line without any of these opens no key block; a marker may contain colours."""


class MaskedPayload(NamedTuple):
    """A payload masked without the session's key block, in Avro and in JSON.

    tokens: the number of leaves of JSON arguments that contain a token.
    """

    avro: AvroValue
    json: Json
    tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class MaskingRule:
    """Masks nothing; the rules below mask one member each.

    verbatim: members that are not even masked in a rejection, where all other texts are.
    """

    verbatim: tuple[str, ...] = ()

    def at_edge(self, event: Json, masker: Masker, now_ms: int, blocks: Blocks) -> Json:
        """Return the members of the payload that an edge changes.  blocks: of the producer."""
        return {}

    def stateless(self, event: Event, masker: Masker) -> MaskedPayload:
        """Mask the payload without the session's key block."""
        return MaskedPayload(event.payload, event.json["payload"])

    def for_record(
        self, event: Event, masked_payload: MaskedPayload, masker: Masker, session: SessionState
    ) -> AvroValue:
        """Return the payload as it is recorded; the session's key block goes on."""
        return masked_payload.avro

    def for_rejection(
        self, event: Event, masked_payload: MaskedPayload, masker: Masker, session: SessionState
    ) -> Json:
        """Return the JSON payload for a rejection; the key block stays where it is."""
        return masked_payload.json


@dataclass(frozen=True)
class JsonArguments(MaskingRule):
    """Masks a member that is any JSON object."""

    member: str

    def at_edge(self, event: Json, masker: Masker, now_ms: int, blocks: Blocks) -> Json:
        return {self.member: masker.arguments(event["payload"][self.member])[0]}

    def stateless(self, event: Event, masker: Masker) -> MaskedPayload:
        payload: Json = event.json["payload"]
        arguments, tokens = masker.arguments(payload[self.member])
        text = {f"{self.member}_json": canonical_json(arguments).decode()}
        return MaskedPayload(event.payload | text, payload | {self.member: arguments}, tokens)


@dataclass(frozen=True)
class OutputLine(MaskingRule):
    """The masking of a line of a session's output; a private key may take several lines.

    flag: the member that records whether the line was changed, here or before.
    """

    member: str
    flag: str

    def at_edge(self, event: Json, masker: Masker, now_ms: int, blocks: Blocks) -> Json:
        sent = event["payload"]
        line = blocks.mask_line(event["session_id"], sent[self.member], masker, now_ms)
        return self._changes(sent, line)

    def stateless(self, event: Event, masker: Masker) -> MaskedPayload:
        changes = self._changes(event.payload, masker.text(event.payload[self.member]))
        return MaskedPayload(event.payload | changes, event.json["payload"] | changes)

    def for_record(
        self, event: Event, masked_payload: MaskedPayload, masker: Masker, session: SessionState
    ) -> AvroValue:
        line, row = event.payload[self.member], session.row["key_block"]
        if row is None and not any(map(line.__contains__, _MAY_OPEN)):
            return masked_payload.avro
        text, block = masker.pulse(line, _block(row), event.at)
        session.row["key_block"] = _block_row(block)
        return masked_payload.avro | self._changes(event.payload, text)

    def for_rejection(
        self, event: Event, masked_payload: MaskedPayload, masker: Masker, session: SessionState
    ) -> Json:
        """Mask a line with a long run of a key's characters as if a block were open.

        The line that it repeats may have been part of a key, which can no longer be determined.
        """
        line, block = event.payload[self.member], _block(session.row["key_block"])
        if block is None and _RUN.search(line):
            _, block = masker.pulse(_KEY_BEGINS, None, event.at)
        text, _ = masker.pulse(line, block, event.at)
        changed = masked_payload.json[self.flag] or text != line
        return masked_payload.json | {self.member: text, self.flag: changed}

    def _changes(self, payload: AvroValue, text: str) -> Json:
        return {self.member: text, self.flag: payload[self.flag] or text != payload[self.member]}


def digest_of(event: Event, masked_payload: MaskedPayload) -> str:
    """Return the content hash of an event with its payload so masked."""
    return content_hash({**event.json, "payload": masked_payload.json})


def _block(row: AvroValue | None) -> Block | None:
    return None if row is None else Block(row["opened_at"], row["pulses"], row["prefix"])


def _block_row(block: Block | None) -> AvroValue | None:
    if block is None:
        return None
    return {"opened_at": block.opened_ms, "pulses": block.pulses, "prefix": block.prefix}
