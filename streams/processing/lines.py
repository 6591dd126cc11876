"""Text that holds one JSON value, a list of them, or one on each line."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson
from schemas.summit.ijson import is_json


class Unparsed(NamedTuple):
    """A line that is not I-JSON; is_json: but JSON."""

    message: str
    is_json: bool = False


def read_values(text: str | bytes) -> list[Any]:
    """The values in a text; a line that cannot be parsed stands as `Unparsed`.

    A text that is one JSON list gives its items, one that is any other JSON value gives that.
    Lone surrogates pass: each kind of envelope has its rule for them.
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
    """More than one line, the first of which is a value of its own (no pretty-printed object)."""
    return len(lines) > 1 and not isinstance(read_value(lines[0]), Unparsed)


def read_value(raw: bytes) -> Any:
    """The one value of a text, or `Unparsed`."""
    try:
        return parse_ijson(raw, surrogates=True)
    except ShapeError as exc:
        return Unparsed(exc.message, is_json(raw))
