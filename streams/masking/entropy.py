"""Runs of characters that look random (spec 5.4, `high_entropy`)."""

from __future__ import annotations

import math
import re
from collections import Counter

from streams.masking.words import IMAGE_BEGINNINGS, PUBLIC_BEGINNINGS

LEAST = 24  # characters
LEAST_BITS = 4.0  # per character
_RUN = re.compile(rf"[A-Za-z0-9+/_=-]{{{LEAST},}}+")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))
# Words and numbers as people join them; hashes and uuids are public wherever they stand.
_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_HASH = r"[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}"
_WORD = rf"(?:{_UUID}|{_HASH}|[A-Za-z]++[0-9]{{0,4}}|[0-9]{{1,8}})"
_WORDS = re.compile(rf"[/_+=-]*+(?:{_WORD}(?:[/_+=-]++|\Z))*+")
# A run that could be one, wherever a value may begin.
_VALUE = rf"(?:[bBrRuUfF$@]{{0,2}}\\*+[\"'`])?+[A-Za-z0-9+_=-][A-Za-z0-9+/_=-]{{{LEAST - 1}}}"
_AT_VALUE = re.compile(_VALUE)
_ASSIGNED = re.compile(rf"[=:>][ \t]*+{_VALUE}")
_FLAGGED = re.compile(rf"(?<![A-Za-z0-9_.-])--?[A-Za-z0-9][A-Za-z0-9_.-]*+[ \t]++{_VALUE}")


def may_have_run(text: str) -> bool:
    """Whether a long run is assigned to anything: cheap, and true too often."""
    if _ASSIGNED.search(text):
        return True
    return "-" in text and _FLAGGED.search(text) is not None


def may_be_run(text: str, start: int, limit: int) -> bool:
    """Whether the value that begins at `start` can begin with such a run."""
    return _AT_VALUE.match(text, start, limit) is not None


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def entropies(text: str) -> list[float]:
    """The entropy of what begins at each character, to the end of the text."""
    counts: Counter[str] = Counter()
    total, found = 0.0, []  # total: the sum of n · log2 n
    for length, character in enumerate(reversed(text), 1):
        count = counts[character] = counts[character] + 1
        total += count * math.log2(count) - (count - 1) * math.log2(max(count - 1, 1))
        found.append(math.log2(length) - total / length)
    return found[::-1]


class Runs:
    """The runs of one text, looked at from left to right.

    A key in a run that is no secret (`a=b=…`) begins another at its value, with the same end.  What
    is known of the first holds for the second, so that no run is read more than a few times.
    """

    def __init__(self, text: str, limit: int) -> None:
        self._text, self._limit = text, limit
        self._start = self._end = -1
        self._public = False
        self._bits: list[float] = []

    def random_until(self, start: int) -> int | None:
        """Where the run ends that begins at `start`, when it is one that no person wrote."""
        if start >= self._end and not self._begin(start):
            return None
        if self._public or self._end - start < LEAST or self._starts_public(start):
            return None
        if self._entropy(start) < LEAST_BITS:
            return None
        self._public = _WORDS.fullmatch(self._text, start, self._end) is not None
        return None if self._public else self._end

    def _begin(self, start: int) -> bool:
        found = _RUN.match(self._text, start, self._limit)
        if found is None:
            return False
        self._start, self._end = found.span()
        self._public = self._text[self._end : self._end + 1] == "." or not all(
            of.search(found[0]) for of in _CLASSES
        )
        self._bits = []
        return True

    def _starts_public(self, start: int) -> bool:
        return self._text.startswith((*PUBLIC_BEGINNINGS, *IMAGE_BEGINNINGS), start)

    def _entropy(self, start: int) -> float:
        run = self._text[self._start : self._end]
        if start == self._start:
            return entropy(run)
        self._bits = self._bits or entropies(run)
        return self._bits[start - self._start]
