"""Collects what is wrong with an object, and the checks that its members share.

Nothing here raises for bad input, however strange.  Messages name the member and what it must be,
never the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.json_schema.patterns import PatternBudget
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.summit.ijson import fault, is_text, size
from schemas.summit.rules import JSON_INVALID, REFUSING

Place = tuple[str | int, ...]
_MOST = 64
"""Problems of one object that are told."""


class Checker:
    """order: the codes of the rules, the one that decides first before the others.

    patterns: what the patterns in all schemas of the object may take.
    """

    def __init__(self, name: str, order: Mapping[str, int]) -> None:
        self._name = name
        self._order = order
        self._found: list[Problem] = []
        self.patterns = PatternBudget()

    def problems(self) -> list[Problem]:
        """Without doubles, in order: by rule, those of one rule as they were found."""
        return sorted(dict.fromkeys(self._found), key=lambda problem: self._order[problem.rule])

    def broken(self, rule: Rule, place: Place, what: str) -> None:
        if len(self._found) < _MOST:
            name = f"{place[-1]}" if place else f"The {self._name}"
            self._found.append(Problem(rule.code, pointer(*place), f"{name} {what}."))

    def take(self, problems: list[Problem]) -> None:
        self._found += problems

    def members(
        self,
        value: dict[str, Any],
        place: Place,
        listed: Sequence[str],
        required: Iterable[str],
        rule: Rule,
        missing: Rule | None = None,
    ) -> None:
        """What is missing, and what is not listed.  missing: the rule for the first, if another."""
        for name in required:
            if name not in value:
                self.broken(missing or rule, (*place, name), "is missing")
        for name in value:
            if name not in listed:
                self.broken(rule, (*place, str(name)), "is no member of this object")

    def an_object(self, rule: Rule, value: Any, place: Place) -> bool:
        if isinstance(value, dict):
            return True
        self.broken(rule, place, "must be an object")
        return False

    def text(
        self,
        owner: dict[str, Any],
        name: str,
        place: Place,
        rule: Rule,
        holds: Callable[[str], bool],
        what: str,
        shape: Rule | None = None,
    ) -> None:
        """A member that is a text, if it is there.  shape: the rule for its type, if another."""
        if name not in owner:
            return
        value = owner[name]
        if not isinstance(value, str):
            self.broken(shape or rule, (*place, name), "must be a string")
        elif not is_text(value):
            self.broken(JSON_INVALID, (*place, name), "has a lone surrogate")
        elif not holds(value):
            self.broken(rule, (*place, name), f"must be {what}")

    def well_formed(self, rule: Rule, value: Any, place: Place) -> bool:
        """Open JSON must be I-JSON; the place tells at which level it stands."""
        found = fault(value, len(place) + 1)
        if found:
            self.broken(rule, place, found)
        return not found

    def at_most(self, rule: Rule, value: Any, place: Place, most: int) -> None:
        """Bytes of canonical JSON; of what has none, other rules speak."""
        found = size(value)
        if found is not None and found > most:
            self.broken(rule, place, f"has {found} bytes of canonical JSON, {most} are allowed")

    def number(
        self, owner: dict[str, Any], name: str, place: Place, rule: Rule, low: float, high: float
    ) -> None:
        if name in owner and not in_range(owner[name], low, high):
            self.broken(rule, (*place, name), f"must be a number from {low} to {high}")

    def integer(
        self,
        owner: dict[str, Any],
        name: str,
        place: Place,
        rule: Rule,
        low: int = 0,
        high: int = MAX_SAFE_INTEGER,
    ) -> None:
        if name in owner and not (is_integer(owner[name]) and low <= owner[name] <= high):
            self.broken(rule, (*place, name), f"must be an integer from {low} to {high}")


def chars(least: int, most: int) -> Callable[[str], bool]:
    """The check of a text's length in characters."""
    return lambda text: least <= len(text) <= most


def is_number(value: Any) -> TypeGuard[float]:
    """A finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_integer(value: Any) -> TypeGuard[float]:
    """A number without fraction, however it is spelled."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def in_range(value: Any, low: float, high: float) -> bool:
    return is_number(value) and low <= value <= high


def order_of(*rules: Rule) -> dict[str, int]:
    return {rule.code: rank for rank, rule in enumerate(rules)}


ANY_ORDER = order_of(*REFUSING)
"""The order of the spec's table."""


def others(value: dict[str, Any], named: Iterable[str]) -> dict[str, Any]:
    """The members of an open object that are not named."""
    taken = frozenset(named)
    return {name: member for name, member in value.items() if name not in taken}
