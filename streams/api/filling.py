"""What an edge makes up for what it is sent, made up the same on every run of `play`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson

NewId = Callable[[], str]


class Filling(NamedTuple):
    """The ids and times that one protocol's edges make; what is not its own it gives back.

    value: takes the name of a topic, a value for it, and what makes an id.
    body: takes method, path and body of a request, when it is made (ms), and what makes an id; no
    two requests are made at one time.
    """

    value: Callable[[str, Any, NewId], Any]
    body: Callable[[str, str, Any, int, NewId], Any]


def parsed(given: Any) -> Any:
    """None for a text that is no JSON."""
    if not isinstance(given, str):
        return given
    try:
        return parse_ijson(given)
    except ShapeError:
        return None


def member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, dict) else None
