"""Checks of a JSON value against its shape: every problem is collected, in document order.

Nothing here raises for bad input, however strange: a value may come from an untrusted record or
from a program.  Messages name the member and what it must be, never the value.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.nesting import MAX_NESTING
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.sap import rules
from schemas.sap.constants import is_blank
from schemas.sap.shapes import (
    MAX_ITEMS,
    Flag,
    Form,
    Integer,
    Kind,
    ListOf,
    Number,
    Numbers,
    OfSignal,
    Open,
    Shape,
    Text,
    Word,
)

Path = tuple[str | int, ...]
MAX_NAME_SHOWN = Text().max_length
"""Maximum characters of a member's name in a message."""


class UnparsableJson:
    """Stands for open JSON whose text could not be read; its problem is recorded already."""


UNPARSABLE = UnparsableJson()


class Checker:
    """Collects the problems of one envelope, of each rule the first 256."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._counts: Counter[str] = Counter()

    def add(self, rule: Rule, path: Path, message: str) -> None:
        self._counts[rule.code] += 1
        if self._counts[rule.code] > MAX_ITEMS:
            return
        name = path[-1] if path else "The envelope"
        self.problems.append(Problem(rule.code, pointer(*path), f"{name} {message}."))

    def check(self, kind: Kind, value: Any, path: Path) -> None:
        match kind:
            case Shape():
                self._shape(kind, value, path)
            case Text():
                self._text(kind, value, path)
            case Form(rule, description, matches):
                if self._is_text(value, path) and not matches(value):
                    self.add(rule, path, f"must be {description}")
            case Word(words):
                if self._is_text(value, path) and value not in words:
                    self.add(rules.BAD_ENUM, path, f"must be one of {', '.join(words)}")
            case Number():
                self._number(kind, value, path)
            case Integer():
                self._integer(kind, value, path)
            case Flag():
                if not isinstance(value, bool):
                    self.add(rules.BAD_TYPE, path, "must be true or false")
            case Open():
                self._open(kind, value, path)
            case ListOf():
                self._list(kind, value, path)
            case Numbers():
                self._numbers(kind, value, path)
            case OfSignal():
                self._of_signal(kind, value, path)

    def _shape(self, shape: Shape, value: Any, path: Path) -> None:
        if not isinstance(value, dict):
            self.add(rules.BAD_TYPE, path, "must be an object")
            return
        known = {member.name for member in shape.members}
        if shape.max_members is not None:
            present = [name for name in value if value[name] is not None or name not in known]
            self._count(present, path, shape.max_members)
        for name, kind, required in shape.members:
            inner = value.get(name)
            if inner is not None:
                self.check(kind, inner, (*path, name))
            elif required:
                self.add(rules.MISSING_FIELD, (*path, name), "is missing")
        unknown = [name for name in value if name not in known]
        if not all(_is_name(name) for name in unknown):
            self.add(rules.BAD_JSON, path, "has a member whose name is no text")
        for name in sorted(name for name in unknown if _is_name(name)):
            self._well_formed(value[name], _inside(path, name), len(path) + 2)

    def _text(self, kind: Text, value: Any, path: Path) -> None:
        if not self._is_text(value, path):
            return
        if not kind.blank and is_blank(value):
            self.add(rules.EMPTY_STRING, path, "must not be blank")
        if len(value) > kind.max_length:
            self.add(rules.TOO_LONG, path, f"must have at most {kind.max_length} characters")

    def _is_text(self, value: Any, path: Path) -> bool:
        if not isinstance(value, str):
            self.add(rules.BAD_TYPE, path, "must be a string")
            return False
        if not _is_name(value):
            self.add(rules.BAD_JSON, path, "has a lone surrogate")
            return False
        return True

    def _number(self, kind: Number, value: Any, path: Path) -> None:
        if not _is_number(value):
            self.add(rules.BAD_TYPE, path, "must be a number")
            return
        low = kind.low if kind.low is not None else -math.inf
        high = kind.high if kind.high is not None else math.inf
        if not _is_finite(value) or not low <= value <= high:
            self.add(rules.OUT_OF_RANGE, path, f"must be a number{_bounds(kind)}")

    def _integer(self, kind: Integer, value: Any, path: Path) -> None:
        if not _is_number(value):
            self.add(rules.BAD_TYPE, path, "must be an integer")
        elif not _is_integral(value) or not kind.low <= value <= kind.high:
            message = f"must be an integer from {kind.low} to {kind.high}"
            self.add(rules.OUT_OF_RANGE, path, message)

    def _of_signal(self, kind: OfSignal, value: Any, path: Path) -> None:
        """Check the type alone; the bounds are those of the signal's kind."""
        if isinstance(kind.base, (Text, Word)):
            self._is_text(value, path)
        elif not _is_number(value):
            self.add(rules.BAD_TYPE, path, "must be an integer")

    def _list(self, kind: ListOf, value: Any, path: Path) -> None:
        if not isinstance(value, list):
            self.add(rules.BAD_TYPE, path, "must be a list")
            return
        self._count(value, path)
        for index, item in enumerate(value):
            self.check(kind.item, item, (*path, index))

    def _numbers(self, kind: Numbers, value: Any, path: Path) -> None:
        if not isinstance(value, dict):
            self.add(rules.BAD_TYPE, path, "must be an object of numbers")
            return
        self._count(value, path)
        if not all(_is_name(name) for name in value):
            self.add(rules.BAD_JSON, path, "has a member whose name is no text")
        for name in sorted(name for name in value if _is_name(name)):
            if len(name) > MAX_NAME_SHOWN:
                self.add(
                    rules.TOO_LONG, path, f"has a name of more than {MAX_NAME_SHOWN} characters"
                )
            self.check(kind.value, value[name], _inside(path, name))

    def _count(self, value: Any, path: Path, max_count: int = MAX_ITEMS) -> None:
        if len(value) > max_count:
            self.add(rules.TOO_MANY_ITEMS, path, f"must have at most {max_count} entries")

    def _open(self, kind: Open, value: Any, path: Path) -> None:
        if value is UNPARSABLE:
            return
        if kind.kind == "object" and not isinstance(value, dict):
            self.add(rules.BAD_TYPE, path, "must be an object")
        elif kind.kind == "list" and not isinstance(value, list):
            self.add(rules.BAD_TYPE, path, "must be a list of objects")
        elif kind.kind == "list":
            self._count(value, path)
            for index, item in enumerate(value):
                if not isinstance(item, dict):
                    self.add(rules.BAD_TYPE, (*path, index), "must be an object")
        self._well_formed(value, path, len(path) + 1)

    def _well_formed(self, value: Any, path: Path, level: int) -> None:
        """Check that open JSON is I-JSON with finite numbers; report at most one problem."""
        problem = _json_problem(value, level)
        if problem:
            self.add(rules.BAD_JSON, path, problem)


def _inside(path: Path, name: str) -> Path:
    """Return the path of a member; that of its object if the name is too long to show."""
    return (*path, name) if len(name) <= MAX_NAME_SHOWN else path


def _json_problem(value: Any, level: int) -> str | None:
    """Return what is wrong with open JSON at a level; the root of a body is level 1."""
    match value:
        case str():
            return None if _is_name(value) else "holds a lone surrogate"
        case None | bool():
            return None
        case int():
            safe = -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
            return None if safe else "holds an integer beyond 9007199254740991"
        case float():
            return None if math.isfinite(value) else "holds a number that is not finite"
        case dict() | list() if level > MAX_NESTING:
            return f"nests above {MAX_NESTING}"
        case dict():
            if not all(_is_name(name) for name in value):
                return "holds a member whose name is no text"
            problems = (_json_problem(item, level + 1) for item in value.values())
        case list():
            problems = (_json_problem(item, level + 1) for item in value)
        case _:
            return "holds what is no JSON"
    return next((problem for problem in problems if problem), None)


def _is_name(value: Any) -> bool:
    """Return whether it is Unicode text."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_integral(value: float) -> bool:
    return isinstance(value, int) or value.is_integer()


def _bounds(kind: Number) -> str:
    if kind.low is not None and kind.high is not None:
        return f" from {kind.low} to {kind.high}"
    return f" from {kind.low}" if kind.low is not None else ", finite"
