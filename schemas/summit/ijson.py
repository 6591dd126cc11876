"""What keeps a JSON value from being I-JSON as Summit has it (spec 1)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from schemas.canonical import MAX_SAFE_INTEGER, canonical_json, parse_ijson
from schemas.json_mapping.json_form import UnparsableJson
from schemas.nesting import MAX_NESTING, too_deep
from schemas.problems import ShapeError
from schemas.summit import rules

_STRICT = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_LARGE = re.compile(rb"[0-9]e|[0-9]{16}")
_AS_INTEGER = 1e21
"""RFC 8785 writes a double without fraction below this as an integer."""


def read_json(body: bytes | str) -> Any:
    """The value of a request's body.

    How deep it may nest is for the checks to say, since a batch adds a level.  Raises ShapeError
    `json.parse` for what is no JSON, and `json.invalid` for what is no I-JSON.
    """
    try:
        value = parse_ijson(body)
    except ShapeError as exc:
        rule = rules.JSON_INVALID if is_json(body) else rules.JSON_PARSE
        raise ShapeError(rule.code, "", exc.message) from exc
    fault = number_fault(value)
    if fault:
        raise ShapeError(rules.JSON_INVALID.code, "", f"The body {fault}.")
    return value


def is_json(body: bytes | str) -> bool:
    """Whether the text is JSON, if not I-JSON; the words NaN and Infinity count as numbers."""
    try:
        json.loads(body.decode("utf-8") if isinstance(body, bytes) else body)
    except RecursionError:
        return True
    except ValueError as exc:
        return "Exceeds the limit" in str(exc)  # digits that Python does not read
    return True


def number_fault(value: Any) -> str | None:
    """What is wrong with the numbers of a value that was read from JSON, however deep."""
    layer = [value]
    while layer:
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, (int, float)) and (fault := _number_fault(item)):
                return fault
        layer = below
    return None


def _number_fault(number: Any) -> str | None:
    if isinstance(number, float):
        return None if math.isfinite(number) else "holds a number that no double can hold"
    safe = -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER
    return None if safe else f"holds an integer beyond {MAX_SAFE_INTEGER}"


def fault(value: Any, level: int = 1) -> str | None:
    """What keeps open JSON that stands at a level from being I-JSON; the root is level 1.

    A double that canonical JSON shows as an integer beyond ±(2^53 − 1) counts as one, since nobody
    can tell the two apart any more once it is written.
    """
    try:
        text = orjson.dumps(value, option=_STRICT)
    except TypeError:
        return _fault(value, level)
    plain = b"null" not in text and not _LARGE.search(text)
    few = text.count(b"{") + text.count(b"[") <= MAX_NESTING - level
    if plain and (few or not too_deep(value, level)):
        return None
    return _fault(value, level)


def _fault(value: Any, level: int) -> str | None:
    if isinstance(value, UnparsableJson):
        return "is no I-JSON"
    if isinstance(value, str):
        return None if is_text(value) else "holds a lone surrogate"
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _number_fault(value)
    if isinstance(value, float):
        large = MAX_SAFE_INTEGER < abs(value) < _AS_INTEGER
        return _number_fault(int(value) if large else value)
    if not isinstance(value, (dict, list)):
        return "holds what is no JSON"
    if level > MAX_NESTING:
        return f"nests above {MAX_NESTING}"
    if isinstance(value, dict):
        if not all(isinstance(name, str) and is_text(name) for name in value):
            return "holds a member whose name is no text"
        value = list(value.values())
    found = (_fault(item, level + 1) for item in value)
    return next((fault for fault in found if fault), None)


def is_text(text: str) -> bool:
    """Whether a string is Unicode text, without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def size(value: Any) -> int | None:
    """Bytes of the canonical JSON; None for what has none, of which other rules speak."""
    try:
        return len(canonical_json(value))
    except (ValueError, TypeError, RecursionError):
        return None
