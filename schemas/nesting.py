"""Walks over JSON values that stay safe however deeply these are nested."""

from __future__ import annotations

import math
from typing import Any

from schemas.problems import Problem, pointer

MAX_NESTING = 64


MAX_OPEN_NESTING = 200
"""What canonical JSON can be made of, wherever a protocol sets no bound of its own."""


def too_deep(value: Any, level: int = 1, limit: int = MAX_NESTING) -> bool:
    """Whether a value that stands at the level given reaches beyond the limit."""
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
    """Rewrites a JSON value for strict checking, and collects what the models cannot see.

    Integral floats become integers; integers beyond the doubles become infinities.  nulls: the
    places of null outside of open members.  problems: numbers in open members that no double can
    hold.  Nothing beyond level 64 is looked at.
    """

    def __init__(self, open_members: frozenset[tuple[str, ...]]) -> None:
        self.open_members = open_members
        self.nulls: list[str] = []
        self.problems: list[Problem] = []

    def run(self, value: Any) -> Any:
        return self._walk(value, (), opened=False)

    def _walk(self, value: Any, place: tuple[str | int, ...], opened: bool) -> Any:
        if isinstance(value, float) or type(value) is int:
            return self._number(value, place, opened)
        if value is None:
            if not opened:
                self.nulls.append(pointer(*place))
            return None
        if len(place) >= MAX_NESTING:
            return value
        opened = opened or place in self.open_members
        if isinstance(value, dict):
            return {k: self._walk(v, (*place, k), opened) for k, v in value.items()}
        if isinstance(value, list):
            return [self._walk(v, (*place, i), opened) for i, v in enumerate(value)]
        return value

    def _number(self, value: float, place: tuple[str | int, ...], opened: bool) -> float:
        try:
            double = float(value)
        except OverflowError:
            double = math.inf if value > 0 else -math.inf
        if math.isfinite(double):
            return int(value) if isinstance(value, int) or value.is_integer() else value
        if opened:
            message = f"{place[-1]} is no number that a double can hold."
            self.problems.append(Problem("json_invalid", pointer(*place), message))
        return double
