"""An event record, read once."""

from __future__ import annotations

import re
from typing import Any

from schemas.rtes import event_json
from streams.engine.processor import AvroValue, Message
from streams.engine.records import header, position
from topology.core import DROPPED_KEYS

_MAX_INT = 2**31 - 1
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

Json = dict[str, Any]


def traceparent_of(message: Message) -> bytes | None:
    """The trace context of a record, to go on with; any other text in the header is left behind."""
    given = header(message.record, "traceparent")
    return given if given is not None and _TRACEPARENT.fullmatch(given) else None


class Event:
    """value: RtesEvent.  name, payload: its branch.  json: its JSON form.  at: record time (ms)."""

    __slots__ = (
        "at",
        "cause",
        "json",
        "message",
        "name",
        "origin",
        "payload",
        "session_id",
        "value",
    )

    def __init__(self, message: Message) -> None:
        self.message = message
        self.value: AvroValue = message.value
        self.session_id: str = message.value["session_id"]
        self.origin: str | None = message.value["origin"]
        self.name: str
        self.payload: AvroValue
        self.name, self.payload = message.value["payload"]
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.json: Json = event_json(message.value)

    @property
    def traceparent(self) -> bytes | None:
        return traceparent_of(self.message)

    @property
    def dropped_keys(self) -> int:
        """How many unknown members an edge dropped; a header that is no number counts none."""
        count = header(self.message.record, DROPPED_KEYS.name)
        if count is None or not count.isdigit():
            return 0
        return min(int(count[:11]), _MAX_INT)
