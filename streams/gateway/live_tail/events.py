"""A record of `rtes.events` as clients get it, decoded and encoded once for all of them."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from streams.engine.records import Record
from streams.log.cursors import sequence_cursor
from streams.log.record_json import value_json
from streams.protocols.queries import LIVE_TAIL

TOPIC, TYPES = LIVE_TAIL
"""The topic that clients follow, and the types of its records' payloads."""


class Frame(NamedTuple):
    """The bytes of one event.  cursor: the cursor of a client that has received it."""

    cursor: str
    text: bytes


class Event:
    """A record.  cursor: by offsets, for a client that has seen everything up to this record."""

    def __init__(self, record: Record, cursor: str = "") -> None:
        self.record = record
        self.cursor = cursor

    @cached_property
    def value(self) -> Any:
        return value_json(TOPIC, self.record)

    @cached_property
    def data(self) -> bytes:
        return b"data: " + _json(self.value) + b"\n\n"

    @cached_property
    def by_offsets(self) -> bytes:
        return frame(self.cursor, self.data)

    @cached_property
    def by_sequence(self) -> bytes:
        return frame(self.sequence_cursor, self.data)

    @cached_property
    def sequence_cursor(self) -> str:
        return sequence_cursor(self.value["session_id"], self.value["sequence"])


def frame(cursor: str, data: bytes) -> bytes:
    return b"id: " + cursor.encode() + b"\n" + data


def id_line(cursor: str) -> bytes:
    """Return an id without data, which sets the client's cursor without an event."""
    return frame(cursor, b"\n")


def heartbeat(cursor: str | None) -> bytes:
    """Return a heartbeat.  cursor: given if records were filtered since the last output."""
    return b": heartbeat\n" + (b"\n" if cursor is None else id_line(cursor))


def overflow(cursor: str) -> bytes:
    return b"event: overflow\n" + b"data: " + orjson.dumps({"cursor": cursor}) + b"\n\n"


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):  # lone surrogates, or an integer of more than 64 bits
        return json.dumps(value, separators=(",", ":")).encode()
