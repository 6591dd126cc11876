"""Where an Avro value may be spoiled, to see what a processor makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> list[Path]:
    """The ways to every value that holds no other."""
    if isinstance(value, dict):
        return [place for name, item in value.items() for place in places(item, (*path, name))]
    if isinstance(value, list):
        return [place for n, item in enumerate(value) for place in places(item, (*path, n))]
    if isinstance(value, tuple):
        return places(value[1], (*path, 1))
    return [path]


def change(value: Any, path: Path, new: Callable[[Any, Any], Any]) -> None:
    """Put another value in one place.  new: of the last part of the way and the value there."""
    owner = value
    for part in path[:-1]:
        owner = owner[part]
    owner[path[-1]] = new(path[-1], owner[path[-1]])
