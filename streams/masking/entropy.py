"""Runs of characters that look random (SAOP guide, 5.4, `high_entropy`)."""

from __future__ import annotations

import math
import re
from collections import Counter

from streams.masking.vocabulary import IMAGE_BEGINNINGS, PUBLIC_BEGINNINGS

MIN_LENGTH = 24  # characters
MIN_BITS = 4.0  # per character
_RUN = re.compile(rf"[A-Za-z0-9+/_=-]{{{MIN_LENGTH},}}+")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))
# Words and numbers joined by people; hashes and uuids are always public.
_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_HASH = r"[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}"
_WORD = rf"(?:{_UUID}|{_HASH}|[A-Za-z]++[0-9]{{0,4}}|[0-9]{{1,8}})"
_WORDS = re.compile(rf"[/_+=-]*+(?:{_WORD}(?:[/_+=-]++|\Z))*+")
# A possible run at any position where a value may begin.
_VALUE = rf"(?:[bBrRuUfF$@]{{0,2}}\\*+[\"'`])?+[A-Za-z0-9+_=-][A-Za-z0-9+/_=-]{{{MIN_LENGTH - 1}}}"
_AT_VALUE = re.compile(_VALUE)
_ASSIGNED = re.compile(rf"[=:>][ \t]*+{_VALUE}")
_FLAGGED = re.compile(rf"(?<![A-Za-z0-9_.-])--?[A-Za-z0-9][A-Za-z0-9_.-]*+[ \t]++{_VALUE}")


def may_have_run(text: str) -> bool:
    """Return whether a long run may be assigned to a key; cheap, with false positives."""
    if _ASSIGNED.search(text):
        return True
    return "-" in text and _FLAGGED.search(text) is not None


def may_be_run(text: str, start: int, limit: int) -> bool:
    """Return whether the value at `start` can begin with such a run."""
    return _AT_VALUE.match(text, start, limit) is not None


def entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def entropies(text: str) -> list[float]:
    """Return, for each character, the entropy of the text from there to the end."""
    counts: Counter[str] = Counter()
    total, bits = 0.0, []  # total: the sum of n · log2 n
    for length, character in enumerate(reversed(text), 1):
        count = counts[character] = counts[character] + 1
        total += count * math.log2(count) - (count - 1) * math.log2(max(count - 1, 1))
        bits.append(math.log2(length) - total / length)
    return bits[::-1]


class Runs:
    """The runs of one text, scanned from left to right.

    A key in a run that is no secret (`a=b=…`) begins another run at its value, with the same end.
    The results for the first run are reused for the second, so that no run is scanned more than a
    few times.
    """

    def __init__(self, text: str, limit: int) -> None:
        self._text, self._limit = text, limit
        self._start = self._end = -1
        self._public = False
        self._bits: list[float] = []

    def random_until(self, start: int) -> int | None:
        """Return the end of the run at `start` if the run looks random, else None."""
        if start >= self._end and not self._begin(start):
            return None
        if self._public or self._end - start < MIN_LENGTH or self._starts_public(start):
            return None
        if self._entropy(start) < MIN_BITS:
            return None
        self._public = _WORDS.fullmatch(self._text, start, self._end) is not None
        return None if self._public else self._end

    def _begin(self, start: int) -> bool:
        match = _RUN.match(self._text, start, self._limit)
        if match is None:
            return False
        self._start, self._end = match.span()
        self._public = self._text[self._end : self._end + 1] == "." or not all(
            of.search(match[0]) for of in _CLASSES
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
