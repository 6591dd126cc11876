"""The parts of a JSON value of any shape: its objects, its texts, and where they stand.

Source: SAP spec, 3.3, 3.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from schemas.normal_form import normal
from schemas.problems import pointer

Place: TypeAlias = "tuple[Place, str | int] | None"
"""Where a value stands: its parent's place and its own name or index; None is the root."""

LONGEST_POINTER = 200
_SPACES = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ENDINGS = ".!;"


def record(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def array(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in array(value) if isinstance(item, dict)]


def strings(value: Any) -> list[str]:
    return [item for item in array(value) if isinstance(item, str)]


class Leaf(NamedTuple):
    """A string, a member name or a number.  place: of a name, the place of its value."""

    place: Place
    value: str | int | float
    is_name: bool = False


def leaves(value: Any) -> Iterator[Leaf]:
    """In document order, however deep the value is nested."""
    stack: list[tuple[Place, Any]] = [(None, value)]
    while stack:
        place, item = stack.pop()
        if isinstance(item, dict):
            stack += [((place, name), inner) for name, inner in reversed(item.items())]
        elif isinstance(item, list):
            numbered = zip(range(len(item) - 1, -1, -1), reversed(item), strict=True)
            stack += [((place, index), inner) for index, inner in numbered]
        if place is not None and isinstance(place[1], str):
            yield Leaf(place, nfkc(place[1]), is_name=True)
        if isinstance(item, str):
            yield Leaf(place, nfkc(item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield Leaf(place, item)


def texts(value: Any) -> Iterator[tuple[Place, str]]:
    """Every string and member name in document order, NFKC."""
    for leaf in leaves(value):
        if isinstance(leaf.value, str):
            yield leaf.place, leaf.value


def nfkc(text: str) -> str:
    return normal("NFKC", text)


def folded(text: str) -> str:
    """Case-folded, each run of white space as one space, none at the ends."""
    return _SPACES.sub(" ", nfkc(text).casefold()).strip(" ")


def normalised(constraint: str) -> str:
    """The form in which the text of a constraint is matched."""
    return folded(constraint).rstrip(_ENDINGS).rstrip(" ")


def shown(place: Place, withheld: Callable[[str], bool]) -> str:
    """A JSON Pointer that ends with `/…` before the first name that must not be told."""
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    told = ""
    for step in reversed(steps):
        if isinstance(step, str) and withheld(nfkc(step)):
            return f"{told}/…"
        told += pointer(step)
        if len(told) > LONGEST_POINTER:
            return f"{told[:LONGEST_POINTER]}…"
    return told or "the root"
