"""Checks that all objects of Summit share, and the forms of its texts (Summit guide, 1, 2).

The checks never raise for bad input.  Messages name the member and the requirement, never the
value.
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
    """Return a predicate for texts that match a form from their first character to their last."""
    pattern = re.compile(form)
    return lambda text: pattern.fullmatch(text) is not None


is_agent_id = _has_form(AGENT_ID)
is_version = _has_form(VERSION)
is_id = _has_form(ID)
"""The check of a runId, traceId or replyId."""
is_tool_call_id = _has_form(TOOL_CALL_ID)
is_tool_name = _has_form(TOOL_NAME)
is_role = _has_form(ROLE)
is_resource = _has_form(RESOURCE)
is_position = _has_form(_POSITION)
"""The check of `<topic>/<partition>/<offset>`."""
_is_capability = _has_form(CAPABILITY)
_is_time = _has_form(TIME)


def is_capability(text: str) -> bool:
    return len(text) <= 128 and _is_capability(text)


def is_time(text: str) -> bool:
    """Return whether a text is `YYYY-MM-DDThh:mm:ss[.f{1,9}]Z` with a real date and time."""
    return _is_time(text) and parse_time(text) is not None


JsonPath = tuple[str | int, ...]
_MAX_PROBLEMS = 64
"""The most problems reported of one object."""


class Checker:
    """A collector of the problems of one object.

    order: the codes of the rules with their rank; the lowest rank decides.
    patterns: the limit on the patterns in all schemas of the object.
    """

    def __init__(self, name: str, order: Mapping[str, int]) -> None:
        self._name = name
        self._order = order
        self._problems: list[Problem] = []
        self.patterns = PatternBudget()

    def problems(self) -> list[Problem]:
        """Return the problems without duplicates, sorted by rule, then in the order they were
        added.
        """
        return sorted(dict.fromkeys(self._problems), key=lambda problem: self._order[problem.rule])

    def add_problem(self, rule: Rule, path: JsonPath, what: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            name = f"{path[-1]}" if path else f"The {self._name}"
            self._problems.append(Problem(rule.code, pointer(*path), f"{name} {what}."))

    def take(self, problems: list[Problem]) -> None:
        self._problems += problems

    def members(
        self,
        value: dict[str, Any],
        path: JsonPath,
        listed: Sequence[str],
        required: Iterable[str],
        rule: Rule,
        missing: Rule | None = None,
    ) -> None:
        """Check that required members are present and that all members are listed.

        missing: the rule for a missing member, if it differs.
        """
        for name in required:
            if name not in value:
                self.add_problem(missing or rule, (*path, name), "is missing")
        for name in value:
            if name not in listed:
                self.add_problem(rule, (*path, str(name)), "is no member of this object")

    def an_object(self, rule: Rule, value: Any, path: JsonPath) -> bool:
        if isinstance(value, dict):
            return True
        self.add_problem(rule, path, "must be an object")
        return False

    def text(
        self,
        owner: dict[str, Any],
        name: str,
        path: JsonPath,
        rule: Rule,
        holds: Callable[[str], bool],
        what: str,
        shape: Rule | None = None,
    ) -> None:
        """Check a member that is a text, if it is present.

        shape: the rule for another type, if it differs.
        """
        if name not in owner:
            return
        value = owner[name]
        if not isinstance(value, str):
            self.add_problem(shape or rule, (*path, name), "must be a string")
        elif not is_text(value):
            self.add_problem(JSON_INVALID, (*path, name), "has a lone surrogate")
        elif not holds(value):
            self.add_problem(rule, (*path, name), f"must be {what}")

    def well_formed(self, rule: Rule, value: Any, path: JsonPath) -> bool:
        """Check that open JSON is I-JSON; the length of its path is its nesting level."""
        violation = fault(value, len(path) + 1)
        if violation:
            self.add_problem(rule, path, violation)
        return not violation

    def at_most(self, rule: Rule, value: Any, path: JsonPath, max_bytes: int) -> None:
        """Check the bytes of canonical JSON; other rules report a value that has none."""
        byte_count = size(value)
        if byte_count is not None and byte_count > max_bytes:
            self.add_problem(
                rule, path, f"has {byte_count} bytes of canonical JSON, {max_bytes} are allowed"
            )

    def number(
        self, owner: dict[str, Any], name: str, path: JsonPath, rule: Rule, low: float, high: float
    ) -> None:
        if name in owner and not in_range(owner[name], low, high):
            self.add_problem(rule, (*path, name), f"must be a number from {low} to {high}")

    def integer(
        self,
        owner: dict[str, Any],
        name: str,
        path: JsonPath,
        rule: Rule,
        low: int = 0,
        high: int = MAX_SAFE_INTEGER,
    ) -> None:
        if name in owner and not (is_integer(owner[name]) and low <= owner[name] <= high):
            self.add_problem(rule, (*path, name), f"must be an integer from {low} to {high}")


def chars(min_length: int, max_length: int) -> Callable[[str], bool]:
    """Return the check of a text's length in characters."""
    return lambda text: min_length <= len(text) <= max_length


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number; a boolean is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_integer(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number without fraction, in any spelling."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def in_range(value: Any, low: float, high: float) -> bool:
    return is_number(value) and low <= value <= high


def order_of(*rules: Rule) -> dict[str, int]:
    return {rule.code: rank for rank, rule in enumerate(rules)}


ANY_ORDER = order_of(*REFUSING)
"""The order of the rules in the table of the guide."""


def others(value: dict[str, Any], named: Iterable[str]) -> dict[str, Any]:
    """Return the members of an open object that are not named."""
    taken = frozenset(named)
    return {name: member for name, member in value.items() if name not in taken}
