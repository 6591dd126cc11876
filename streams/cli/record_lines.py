"""The line of any record of any topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.core_lines import CORE_LINES, dead_letter_line, other_line
from streams.api.lines import Line, LineOf
from streams.engine.records import Record
from streams.log.dead_letters import letter_json
from streams.protocols.queries import QUERIES
from topology.declarations import Topic, TopicKind

LINES: Mapping[str, LineOf] = {
    **CORE_LINES,
    **{name: line_of for side in QUERIES for name, line_of in side.lines.items()},
}
"""By topic name: every topic that is neither internal nor holds raw bytes."""


def record_line(topic: Topic, record: Record, value: Any) -> Line:
    """Return the line of a record.  value: its value as JSON."""
    if topic.kind is TopicKind.DEAD_LETTER:
        letter = letter_json(topic, record)
        return dead_letter_line(letter["source"].strip("/"), letter["code"], letter["message"])
    if value is None:
        return Line(who=(record.key or b"").decode(errors="backslashreplace"), text="removed")
    line_of = LINES.get(topic.name)
    if line_of is None or not isinstance(value, Mapping) or "raw_base64" in value:
        return other_line(value)
    return line_of(value)


def position_of(record: Record) -> str:
    return f"{record.topic}/{record.partition}/{record.offset}"
