"""Parsing of text that contains one JSON value, a list of values, or one on each line."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson
from schemas.summit.ijson import is_json


class Unparsed(NamedTuple):
    """A line that is not I-JSON.  is_json: it is JSON nevertheless."""

    message: str
    is_json: bool = False


def read_values(text: str | bytes) -> list[Any]:
    """Return the values in a text; a line that cannot be parsed becomes `Unparsed`.

    A JSON list yields its items, any other JSON value yields itself.
    Lone surrogates are accepted: each kind of envelope has its rule for them.
    """
    raw = text.encode() if isinstance(text, str) else text
    whole = read_value(raw)
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, Unparsed):
        return [whole]
    lines = [line for line in raw.split(b"\n") if line.strip()]
    return [read_value(line) for line in lines] if _looks_like_lines(lines) else [whole]


def _looks_like_lines(lines: list[bytes]) -> bool:
    """Return whether there are several lines, and the first is a value by itself."""
    return len(lines) > 1 and not isinstance(read_value(lines[0]), Unparsed)


def read_value(raw: bytes) -> Any:
    """Return the value of a text, or `Unparsed`."""
    try:
        return parse_ijson(raw, surrogates=True)
    except ShapeError as exc:
        return Unparsed(exc.message, is_json(raw))
