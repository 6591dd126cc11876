"""JSON values that do not spell themselves out.

`jsonschema` writes the value that breaks a schema into each message, and a schema of many branches
makes many.  These values write a word instead, which costs nothing and tells nothing.
"""

from __future__ import annotations

from typing import Any


class QuietObject(dict[str, Any]):
    def __repr__(self) -> str:
        return "an object"


class QuietArray(list[Any]):
    def __repr__(self) -> str:
        return "an array"


class QuietText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "a text"


def quiet(value: Any) -> Any:
    """The same value.  Raises RecursionError."""
    if isinstance(value, dict):
        return QuietObject((QuietText(name), quiet(member)) for name, member in value.items())
    if isinstance(value, list):
        return QuietArray(map(quiet, value))
    return QuietText(value) if isinstance(value, str) else value
