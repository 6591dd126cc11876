"""Records as lines of text: `HH:MM:SS.mmm  place  who  what  ✔ verdict  rule: reason`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
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

MAX_TEXT = 4096
"""Longer texts are cut; `--json` prints them whole."""


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


def clock_time(ms: int, *, local: bool = False) -> str:
    """Return the time of day with milliseconds, in UTC or in the local time zone."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return (at.astimezone() if local else at).strftime("%H:%M:%S.") + f"{ms % 1000:03d}"


def line_text(line: Line) -> str:
    """Return the parts of a line after its place, in columns.  Texts are not escaped yet."""
    state = f"{line.sign} {line.text}" if line.sign else line.text
    why = f"{line.rule}: {line.reason}" if line.rule and line.reason else line.rule or line.reason
    columns = [f"{line.who:<7}", line.what, f"{state:<11}" if why else state, why]
    return "  ".join(_clip(column) for column in columns if column.strip()).rstrip()


def _clip(text: str) -> str:
    more = len(text) - MAX_TEXT
    return text if more <= 0 else f"{text[:MAX_TEXT]}… ({more:,} more characters)"


def joined(lines: Iterable[Line]) -> Line:
    """Return one line for lines of one stream: their texts joined, their places as a range."""
    first, *others = lines
    if not others:
        return first
    text = "".join(line.text for line in (first, *others))
    last = others[-1].place.rpartition("#")[2]
    return replace(first, text=text, place=f"{first.place}–{last}")
