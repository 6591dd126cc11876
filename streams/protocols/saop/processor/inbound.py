"""A turn record as it was read, and an accepted turn until it is logged."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from schemas import AvroBody, saop
from streams.engine.processor import AvroValue, Message
from streams.engine.records import header, position
from topology.core import DROPPED_KEYS

_MAX_INT = 2**31 - 1
_TRACEPARENT_BYTES = 128
"""W3C's has 55; a longer one is none, and is not kept with a held turn."""


class Inbound:
    """One record of `saop.turns`.  json: the envelope as read.  cause: its position."""

    def __init__(self, message: Message) -> None:
        record = message.record
        self.message = message
        self.value = message.value
        self.task_id: str = message.value["metadata"]["task_id"]
        self.turn_index: int = message.value["turn_index"]
        self.key = self.task_id.encode()
        self.at = record.timestamp
        self.cause = position(record)
        self.traceparent = header(record, "traceparent")
        self.dropped_keys = _dropped_keys(header(record, DROPPED_KEYS.name))
        self.json = saop.turn_json(message.value)

    @cached_property
    def canonical_hash(self) -> str:
        """Of a turn whose shape is right."""
        return saop.turn_hash(self.json)

    @property
    def size(self) -> int:
        """Bytes of the envelope."""
        return len(self.message.body)

    def turn(self) -> Turn:
        message = self.message
        return Turn(
            self.value,
            AvroBody(message.body) if message.current else self.value,
            self.canonical_hash,
            self.dropped_keys,
            self.at,
            self.cause,
            self.traceparent,
        )


class Turn(NamedTuple):
    """An accepted turn.  written: what stands for its value in a record that holds it."""

    value: AvroValue
    written: AvroValue | AvroBody
    canonical_hash: str
    dropped_keys: int
    received_at: int
    cause: str
    traceparent: bytes | None


def held_row(turn: Turn, due_at: int, principal: str | None) -> AvroValue:
    """The SaopTurnHeld row of a turn that is not written yet.  It is given back as it is put.

    principal: who sent it.
    """
    parent = turn.traceparent
    if parent is not None and len(parent) > _TRACEPARENT_BYTES:
        parent = None
    return {
        "turn": turn.value,
        "canonical_hash": turn.canonical_hash,
        "dropped_keys": turn.dropped_keys,
        "received_at": turn.received_at,
        "due_at": due_at,
        "cause": turn.cause,
        "traceparent": None if parent is None else parent.decode("latin-1"),
        "principal": principal,
    }


def held_turn(row: AvroValue) -> Turn:
    parent = row["traceparent"]
    return Turn(
        row["turn"],
        row["turn"],
        row["canonical_hash"],
        row["dropped_keys"],
        row["received_at"],
        row["cause"],
        None if parent is None else parent.encode("latin-1"),
    )


def _dropped_keys(count: bytes | None) -> int:
    """How many unknown members an edge dropped; a header that is no number counts none."""
    if count is None or not count.isdigit():
        return 0
    return min(int(count[:11]), _MAX_INT)
