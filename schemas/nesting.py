"""Traversals of JSON values that are safe at any nesting depth."""

from __future__ import annotations

import math
from typing import Any

from schemas.problems import Problem, pointer

MAX_NESTING = 64


MAX_OPEN_NESTING = 200
"""What canonical JSON can be made of, wherever a protocol sets no bound of its own."""


def too_deep(value: Any, level: int = 1, limit: int = MAX_NESTING) -> bool:
    """Return whether a value at this level is nested beyond the limit."""
    layer = [value]
    while layer := [item for item in layer if isinstance(item, (dict, list))]:
        if level > limit:
            return True
        layer = [inner for item in layer for inner in _items(item)]
        level += 1
    return False


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


class Normaliser:
    """A rewriter of JSON values for strict validation, which also records problems models cannot
    see.

    Integral floats become integers; integers beyond the range of doubles become infinities.
    nulls: JSON Pointers of nulls outside open members.  problems: numbers in open members that no
    double can hold.  Levels below 64 are not visited.
    """

    def __init__(self, open_members: frozenset[tuple[str, ...]]) -> None:
        self.open_members = open_members
        self.nulls: list[str] = []
        self.problems: list[Problem] = []

    def run(self, value: Any) -> Any:
        return self._walk(value, (), opened=False)

    def _walk(self, value: Any, path: tuple[str | int, ...], opened: bool) -> Any:
        if isinstance(value, float) or type(value) is int:
            return self._number(value, path, opened)
        if value is None:
            if not opened:
                self.nulls.append(pointer(*path))
            return None
        if len(path) >= MAX_NESTING:
            return value
        opened = opened or path in self.open_members
        if isinstance(value, dict):
            return {k: self._walk(v, (*path, k), opened) for k, v in value.items()}
        if isinstance(value, list):
            return [self._walk(v, (*path, i), opened) for i, v in enumerate(value)]
        return value

    def _number(self, value: float, path: tuple[str | int, ...], opened: bool) -> float:
        try:
            double = float(value)
        except OverflowError:
            double = math.inf if value > 0 else -math.inf
        if math.isfinite(double):
            return int(value) if isinstance(value, int) or value.is_integer() else value
        if opened:
            message = f"{path[-1]} is no number that a double can hold."
            self.problems.append(Problem("json_invalid", pointer(*path), message))
        return double
