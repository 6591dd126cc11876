"""Reads a line as a terminal shows it: colours do not part a key from its value."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from streams.masking.tokens import Span

ESCAPE = "\x1b"
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")


def shown(line: str) -> str:
    """Without colours."""
    return _COLOUR.sub("", line) if ESCAPE in line else line


def in_line(line: str, spans: list[Span]) -> list[Span]:
    """Spans of what is shown, as spans of the line itself: colours inside one belong to it."""
    found = [match.span() for match in _COLOUR.finditer(line)] if ESCAPE in line else []
    if not found:
        return spans
    removed = [0, *accumulate(end - start for start, end in found)]
    places = [start - gone for (start, _), gone in zip(found, removed, strict=False)]

    def original(position: int) -> int:
        return position + removed[bisect_right(places, position)]

    return [Span(original(start), original(end - 1) + 1, rule) for start, end, rule in spans]
