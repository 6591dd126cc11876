"""Checks that the members of all objects share, and the forms of Summit's texts (spec 1, 2).

Nothing here raises for bad input, however strange.  Messages name the member and what it must be,
never the value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.formats import parse_time
from schemas.json_schema.patterns import PatternBudget
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.summit import words
from schemas.summit.ijson import fault, is_text, size
from schemas.summit.rules import JSON_INVALID, REFUSING

AGENT_ID = "[a-z0-9-]{1,100}"
_NUMBER = "(0|[1-9][0-9]{0,8})"
VERSION = rf"{_NUMBER}(\.{_NUMBER}){{2}}"
ID = "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
TOOL_CALL_ID = "[!-~]{1,128}"
TOOL_NAME = "[A-Za-z0-9_-]{1,64}"
ROLE = f"({'|'.join(words.ROLES)}|x-[a-z0-9-]{{1,60}})"
CAPABILITY = "[a-z0-9-]+:[a-z0-9-]+"
RESOURCE = "[A-Za-z][A-Za-z0-9_]{0,63}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z"
_POSITION = "[A-Za-z0-9._-]{1,249}/[0-9]{1,10}/[0-9]{1,19}"


def _has_form(form: str) -> Callable[[str], bool]:
    """Return the check whether a text has a form from its first character to its last."""
    pattern = re.compile(form)
    return lambda text: pattern.fullmatch(text) is not None


is_agent_id = _has_form(AGENT_ID)
is_version = _has_form(VERSION)
is_id = _has_form(ID)
"""Of a runId, traceId or replyId."""
is_tool_call_id = _has_form(TOOL_CALL_ID)
is_tool_name = _has_form(TOOL_NAME)
is_role = _has_form(ROLE)
is_resource = _has_form(RESOURCE)
is_position = _has_form(_POSITION)
"""Of `<topic>/<partition>/<offset>`."""
_is_capability = _has_form(CAPABILITY)
_is_time = _has_form(TIME)


def is_capability(text: str) -> bool:
    return len(text) <= 128 and _is_capability(text)


def is_time(text: str) -> bool:
    """Whether it is `YYYY-MM-DDThh:mm:ss[.f{1,9}]Z` of a real date and time."""
    return _is_time(text) and parse_time(text) is not None


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
