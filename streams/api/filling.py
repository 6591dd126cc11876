"""The members that an edge fills in, the same on every run of `play`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson

NewId = Callable[[], str]


class Filling(NamedTuple):
    """The ids and times that one protocol's edges fill in.

    Both functions return the values of other protocols unchanged.
    value: takes the name of a topic, a value for it, and what makes an id.
    body: takes method, path and body of a request, its time (ms), and what makes an id; no two
    requests have the same time.
    """

    value: Callable[[str, Any, NewId], Any]
    body: Callable[[str, str, Any, int, NewId], Any]


def parse_or_none(value: Any) -> Any:
    """Return the value of a JSON text, None for a text that is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return parse_ijson(value)
    except ShapeError:
        return None


def member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, dict) else None
