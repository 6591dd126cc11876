"""The parts of a JSON value of any shape: its objects, its texts, and the paths to them.

Source: SAP guide, 3.3, 3.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from schemas.normal_form import normal
from schemas.problems import pointer

Path: TypeAlias = "tuple[Path, str | int] | None"
"""The path to a value: its parent's and its name or index; None is the root."""

MAX_POINTER = 200
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
    """A string, a member name or a number.  path: of a name, the path of its value."""

    path: Path
    value: str | int | float
    is_name: bool = False


def leaves(value: Any) -> Iterator[Leaf]:
    """Return the leaves in document order, however deep the value is nested."""
    stack: list[tuple[Path, Any]] = [(None, value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, dict):
            stack += [((path, name), inner) for name, inner in reversed(item.items())]
        elif isinstance(item, list):
            numbered = zip(range(len(item) - 1, -1, -1), reversed(item), strict=True)
            stack += [((path, index), inner) for index, inner in numbered]
        if path is not None and isinstance(path[1], str):
            yield Leaf(path, nfkc(path[1]), is_name=True)
        if isinstance(item, str):
            yield Leaf(path, nfkc(item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield Leaf(path, item)


def texts(value: Any) -> Iterator[tuple[Path, str]]:
    """Return every string and member name in document order, NFKC."""
    for leaf in leaves(value):
        if isinstance(leaf.value, str):
            yield leaf.path, leaf.value


def nfkc(text: str) -> str:
    return normal("NFKC", text)


def folded(text: str) -> str:
    """Return the text case-folded, each run of white space as one space, none at the ends."""
    return _SPACES.sub(" ", nfkc(text).casefold()).strip(" ")


def normalised(constraint: str) -> str:
    """Return the form in which the text of a constraint is matched."""
    return folded(constraint).rstrip(_ENDINGS).rstrip(" ")


def redacted(path: Path, withheld: Callable[[str], bool]) -> str:
    """Return a JSON Pointer that ends with `/…` before the first name to be withheld."""
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    text = ""
    for step in reversed(steps):
        if isinstance(step, str) and withheld(nfkc(step)):
            return f"{text}/…"
        text += pointer(step)
        if len(text) > MAX_POINTER:
            return f"{text[:MAX_POINTER]}…"
    return text or "the root"
