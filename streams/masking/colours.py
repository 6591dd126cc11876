"""Removal of terminal colours, so that none separates a key from its value."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from streams.masking.tokens import Span

ESCAPE = "\x1b"
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")


def strip_colours(line: str) -> str:
    """Return the line without colours."""
    return _COLOUR.sub("", line) if ESCAPE in line else line


def map_to_line(line: str, spans: list[Span]) -> list[Span]:
    """Map spans of the line without colours to the line itself; colours inside a span belong to
    it.
    """
    colours = [match.span() for match in _COLOUR.finditer(line)] if ESCAPE in line else []
    if not colours:
        return spans
    removed = [0, *accumulate(end - start for start, end in colours)]
    starts = [
        start - removed_before for (start, _), removed_before in zip(colours, removed, strict=False)
    ]

    def original(position: int) -> int:
        return position + removed[bisect_right(starts, position)]

    return [Span(original(start), original(end - 1) + 1, rule) for start, end, rule in spans]
