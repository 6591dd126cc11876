"""Records as spans need them: headers, some members of the value, the cause and the trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import Undecodable
from schemas.formats import parse_time
from streams.doors.otlp.exporter.conventions import projection_of
from streams.engine.headers import CAUSE, TRACEPARENT
from streams.engine.records import Record, position
from streams.engine.trace_context import TraceContext, context_of
from topology.declarations import Topic, TopicKind
from topology.topics import BY_NAME

NS_PER_MS = 1_000_000
_MAX_NS = 2**64 - 1
_POSITION = re.compile(r"([^/]+)/([0-9]{1,9})/([0-9]{1,18})")


class LogPosition(NamedTuple):
    """The position of a record of a topic that exists; `text` is as on the log."""

    text: str
    topic: Topic
    partition: int
    offset: int


class Reading(NamedTuple):
    """A record that was read.

    prefix: of topic names.  value: the members that its spans need, None without any.  cause: None
    if a timer caused it, or nothing did.
    """

    record: Record
    topic: Topic
    prefix: str
    headers: Mapping[str, bytes]
    value: Any
    cause: LogPosition | None
    context: TraceContext

    @property
    def position(self) -> str:
        """Return the record's position as on the log."""
        return position(self.record)

    @property
    def sent_ns(self) -> int:
        return bounded(self.record.timestamp * NS_PER_MS)

    @property
    def decided_ns(self) -> int:
        """Return `ce_time`, the time of the cause; without it, the record's own."""
        time = parse_time(self.text("ce_time") or "")
        return self.sent_ns if time is None else bounded(time)

    def text(self, name: str) -> str | None:
        """Return a header as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode(errors="replace")

    def plain(self, log_position: str | None) -> str | None:
        """Return a position without the prefix of the environment."""
        return None if log_position is None else log_position.removeprefix(self.prefix)


def read(record: Record, topic: Topic, prefix: str) -> Reading:
    """Read a record; of a value that cannot be decoded no member is there."""
    headers: dict[str, bytes] = {}
    for name, value in record.headers or ():
        if value is not None:
            headers.setdefault(name, value)
    cause = headers.get(CAUSE, b"").decode(errors="replace")
    origin = position(record) if topic.kind is TopicKind.COMMAND or not cause else cause
    context = context_of(headers.get(TRACEPARENT), origin)
    members = _members(record, topic)
    return Reading(record, topic, prefix, headers, members, _position_of(cause, prefix), context)


def bounded(time_ns: int) -> int:
    """Return the nearest time that OTLP can carry."""
    return min(max(0, time_ns), _MAX_NS)


def protocol_of(topic: Topic) -> str:
    return topic.name.partition(".")[0]


def _members(record: Record, topic: Topic) -> Any:
    projection = projection_of(topic)
    if projection is None:
        return None
    try:
        return projection.of(record.value)
    except Undecodable:
        return None


def _position_of(text: str, prefix: str) -> LogPosition | None:
    """Return the position that a text names; None for the name of a timer."""
    match = _POSITION.fullmatch(text)
    topic = BY_NAME.get(match[1].removeprefix(prefix)) if match else None
    if match is None or topic is None:
        return None
    return LogPosition(text, topic, int(match[2]), int(match[3]))
