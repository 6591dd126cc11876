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
from schemas.sap.shapes import (
    MOST,
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
from schemas.sap.texts import is_blank

Place = tuple[str | int, ...]
MOST_SHOWN = Text().most
"""Characters of a member's name."""


class Unread:
    """Stands for open JSON whose text could not be read; what is wrong with it is said already."""


UNREAD = Unread()


class Checker:
    """Collects the problems of one envelope, of each rule the first 256."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._told: Counter[str] = Counter()

    def broken(self, rule: Rule, place: Place, what: str) -> None:
        self._told[rule.code] += 1
        if self._told[rule.code] > MOST:
            return
        name = place[-1] if place else "The envelope"
        self.problems.append(Problem(rule.code, pointer(*place), f"{name} {what}."))

    def check(self, kind: Kind, value: Any, place: Place) -> None:
        match kind:
            case Shape():
                self._shape(kind, value, place)
            case Text():
                self._text(kind, value, place)
            case Form(rule, what, holds):
                if self._is_text(value, place) and not holds(value):
                    self.broken(rule, place, f"must be {what}")
            case Word(words):
                if self._is_text(value, place) and value not in words:
                    self.broken(rules.BAD_ENUM, place, f"must be one of {', '.join(words)}")
            case Number():
                self._number(kind, value, place)
            case Integer():
                self._integer(kind, value, place)
            case Flag():
                if not isinstance(value, bool):
                    self.broken(rules.BAD_TYPE, place, "must be true or false")
            case Open():
                self._open(kind, value, place)
            case ListOf():
                self._list(kind, value, place)
            case Numbers():
                self._numbers(kind, value, place)
            case OfSignal():
                self._of_signal(kind, value, place)

    def _shape(self, shape: Shape, value: Any, place: Place) -> None:
        if not isinstance(value, dict):
            self.broken(rules.BAD_TYPE, place, "must be an object")
            return
        known = {member.name for member in shape.members}
        if shape.most is not None:
            given = [name for name in value if value[name] is not None or name not in known]
            self._count(given, place, shape.most)
        for name, kind, required in shape.members:
            inner = value.get(name)
            if inner is not None:
                self.check(kind, inner, (*place, name))
            elif required:
                self.broken(rules.MISSING_FIELD, (*place, name), "is missing")
        unknown = [name for name in value if name not in known]
        if not all(_is_name(name) for name in unknown):
            self.broken(rules.BAD_JSON, place, "has a member whose name is no text")
        for name in sorted(name for name in unknown if _is_name(name)):
            self._well_formed(value[name], _inside(place, name), len(place) + 2)

    def _text(self, kind: Text, value: Any, place: Place) -> None:
        if not self._is_text(value, place):
            return
        if not kind.blank and is_blank(value):
            self.broken(rules.EMPTY_STRING, place, "must not be blank")
        if len(value) > kind.most:
            self.broken(rules.TOO_LONG, place, f"must have at most {kind.most} characters")

    def _is_text(self, value: Any, place: Place) -> bool:
        if not isinstance(value, str):
            self.broken(rules.BAD_TYPE, place, "must be a string")
            return False
        if not _is_name(value):
            self.broken(rules.BAD_JSON, place, "has a lone surrogate")
            return False
        return True

    def _number(self, kind: Number, value: Any, place: Place) -> None:
        if not _is_number(value):
            self.broken(rules.BAD_TYPE, place, "must be a number")
            return
        low = kind.low if kind.low is not None else -math.inf
        high = kind.high if kind.high is not None else math.inf
        if not _is_finite(value) or not low <= value <= high:
            self.broken(rules.OUT_OF_RANGE, place, f"must be a number{_bounds(kind)}")

    def _integer(self, kind: Integer, value: Any, place: Place) -> None:
        if not _is_number(value):
            self.broken(rules.BAD_TYPE, place, "must be an integer")
        elif not _is_integral(value) or not kind.low <= value <= kind.high:
            what = f"must be an integer from {kind.low} to {kind.high}"
            self.broken(rules.OUT_OF_RANGE, place, what)

    def _of_signal(self, kind: OfSignal, value: Any, place: Place) -> None:
        """Type alone; the bounds are those of the signal's kind."""
        if isinstance(kind.base, (Text, Word)):
            self._is_text(value, place)
        elif not _is_number(value):
            self.broken(rules.BAD_TYPE, place, "must be an integer")

    def _list(self, kind: ListOf, value: Any, place: Place) -> None:
        if not isinstance(value, list):
            self.broken(rules.BAD_TYPE, place, "must be a list")
            return
        self._count(value, place)
        for index, item in enumerate(value):
            self.check(kind.item, item, (*place, index))

    def _numbers(self, kind: Numbers, value: Any, place: Place) -> None:
        if not isinstance(value, dict):
            self.broken(rules.BAD_TYPE, place, "must be an object of numbers")
            return
        self._count(value, place)
        if not all(_is_name(name) for name in value):
            self.broken(rules.BAD_JSON, place, "has a member whose name is no text")
        for name in sorted(name for name in value if _is_name(name)):
            if len(name) > MOST_SHOWN:
                self.broken(
                    rules.TOO_LONG, place, f"has a name of more than {MOST_SHOWN} characters"
                )
            self.check(kind.value, value[name], _inside(place, name))

    def _count(self, value: Any, place: Place, most: int = MOST) -> None:
        if len(value) > most:
            self.broken(rules.TOO_MANY_ITEMS, place, f"must have at most {most} entries")

    def _open(self, kind: Open, value: Any, place: Place) -> None:
        if value is UNREAD:
            return
        if kind.kind == "object" and not isinstance(value, dict):
            self.broken(rules.BAD_TYPE, place, "must be an object")
        elif kind.kind == "list" and not isinstance(value, list):
            self.broken(rules.BAD_TYPE, place, "must be a list of objects")
        elif kind.kind == "list":
            self._count(value, place)
            for index, item in enumerate(value):
                if not isinstance(item, dict):
                    self.broken(rules.BAD_TYPE, (*place, index), "must be an object")
        self._well_formed(value, place, len(place) + 1)

    def _well_formed(self, value: Any, place: Place, level: int) -> None:
        """Open JSON must be I-JSON with finite numbers; one problem says what it is not."""
        fault = _fault(value, level)
        if fault:
            self.broken(rules.BAD_JSON, place, fault)


def _inside(place: Place, name: str) -> Place:
    """Where a member stands; one whose name is too long to be told, where its object does."""
    return (*place, name) if len(name) <= MOST_SHOWN else place


def _fault(value: Any, level: int) -> str | None:
    """What is wrong with open JSON that stands at a level; the root of a body is level 1."""
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
            found = (_fault(item, level + 1) for item in value.values())
        case list():
            found = (_fault(item, level + 1) for item in value)
        case _:
            return "holds what is no JSON"
    return next((fault for fault in found if fault), None)


def _is_name(value: Any) -> bool:
    """Unicode text."""
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
