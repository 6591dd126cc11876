"""One line of text for one record, as `tail`, `play` and `watch` print it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Sign(StrEnum):
    """A sign before the words that it belongs to."""

    ACCEPTED = "✔"
    REFUSED = "✖"
    DUPLICATE = "="
    THOUGHT = "┃"
    CALL = "▶"
    PULSE = "│"
    TRANSITION = "◆"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The parts of the text of one record; an empty part is left out.

    who: the id or name of what the record is about.  what: its sender, receivers, agent.
    sign, text: the verdict, the state, or what an agent wrote.  rule, reason: why.
    place: what is printed instead of the record's position.
    stream: lines of equal streams that follow each other are one line, their texts joined.
    """

    who: str
    what: str = ""
    sign: Sign | None = None
    text: str = ""
    rule: str = ""
    reason: str = ""
    place: str = ""
    stream: tuple[str, ...] = ()


LineOf = Callable[[Any], Line]
"""Takes a record's value as the protocol's JSON.  Raises nothing for a value of the schema."""

_VERDICTS = {
    "accepted": (Sign.ACCEPTED, "accepted"),
    "rejected": (Sign.REFUSED, "refused"),
    "duplicate": (Sign.DUPLICATE, "duplicate"),
}


def verdict_line(
    who: str, what: str, verdict: str, rule: str | None, reason: str | None, place: str = ""
) -> Line:
    """Return the line of a verdict.  A rule that only repeats the verdict is left out."""
    sign, word = _VERDICTS.get(verdict, (None, verdict))
    rule = "" if rule is None or rule == verdict else rule
    return Line(
        who=who, what=what, sign=sign, text=word, rule=rule, reason=reason or "", place=place
    )


_MACHINE_ID = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{32,}"
)
"""A UUID, a ULID, or a hash in hexadecimal digits."""
_MAX_NAME = 48


def short(id: str | None) -> str:
    """Return the first eight characters of an id that a machine made, and a name as it is."""
    if id is None:
        return "-"
    if _MACHINE_ID.fullmatch(id):
        return id[:8]
    return id if len(id) <= _MAX_NAME else f"{id[:_MAX_NAME]}…"


def names(items: Sequence[str], max_count: int = 3) -> str:
    """Return names separated by commas, and how many more there are."""
    listed = ", ".join(short(item) for item in items[:max_count])
    more = len(items) - max_count
    return f"{listed} and {more} more" if more > 0 else listed


def parts(*texts: str | None) -> str:
    """Return the texts that are not empty, separated by commas."""
    return ", ".join(text for text in texts if text)


_BREAKS = re.compile(r"[ \t]*[\t\r\n][ \t\r\n]*")


def one_line(text: str | None) -> str:
    """Return a text in which line breaks and tabs are single spaces."""
    return "" if text is None else _BREAKS.sub(" ", text)


def duration(ms: float) -> str:
    """Return a duration in the unit that suits it."""
    if ms < 1000:
        return f"{ms:g} ms"
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.0f} min"


def count_of(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural if it is not one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
