"""The checks that a JSON value is I-JSON, by the rules of Summit (Summit guide, 1)."""

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
_MAYBE_LARGE = re.compile(rb"[0-9]e|[0-9]{16}")
_MAX_INTEGRAL = 1e21
"""RFC 8785 writes a double without fraction as an integer if it is below this."""


def read_json(body: bytes | str) -> Any:
    """Parse the body of a request.

    The nesting depth is left to the checks, since a batch adds a level.  Raises ShapeError
    `json.parse` for a body that is no JSON, and `json.invalid` for one that is no I-JSON.
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
    """Return whether a text is JSON, even if not I-JSON; NaN and Infinity count as numbers."""
    try:
        json.loads(body.decode("utf-8") if isinstance(body, bytes) else body)
    except RecursionError:
        return True
    except ValueError as exc:
        return "Exceeds the limit" in str(exc)  # digits that Python does not read
    return True


def number_fault(value: Any) -> str | None:
    """Return what is wrong with the first bad number, at any depth, in a value read from JSON."""
    layer = [value]
    while layer:
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, (int, float)) and (fault := _number_violation(item)):
                return fault
        layer = below
    return None


def _number_violation(number: Any) -> str | None:
    if isinstance(number, float):
        return None if math.isfinite(number) else "holds a number that no double can hold"
    safe = -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER
    return None if safe else f"holds an integer beyond {MAX_SAFE_INTEGER}"


def fault(value: Any, level: int = 1) -> str | None:
    """Return why open JSON at a level is not I-JSON, None if it is; the root is level 1.

    A double that canonical JSON writes as an integer beyond ±(2^53 − 1) counts as one, since the
    two cannot be told apart once written.
    """
    try:
        text = orjson.dumps(value, option=_STRICT)
    except TypeError:
        return _violation(value, level)
    plain = b"null" not in text and not _MAYBE_LARGE.search(text)
    few = text.count(b"{") + text.count(b"[") <= MAX_NESTING - level
    if plain and (few or not too_deep(value, level)):
        return None
    return _violation(value, level)


def _violation(value: Any, level: int) -> str | None:
    if isinstance(value, UnparsableJson):
        return "is no I-JSON"
    if isinstance(value, str):
        return None if is_text(value) else "holds a lone surrogate"
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _number_violation(value)
    if isinstance(value, float):
        large = MAX_SAFE_INTEGER < abs(value) < _MAX_INTEGRAL
        return _number_violation(int(value) if large else value)
    if not isinstance(value, (dict, list)):
        return "holds what is no JSON"
    if level > MAX_NESTING:
        return f"nests above {MAX_NESTING}"
    if isinstance(value, dict):
        if not all(isinstance(name, str) and is_text(name) for name in value):
            return "holds a member whose name is no text"
        value = list(value.values())
    violations = (_violation(item, level + 1) for item in value)
    return next((fault for fault in violations if fault), None)


def is_text(text: str) -> bool:
    """Return whether a string is Unicode text, without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def size(value: Any) -> int | None:
    """Return the bytes of the canonical JSON; None if there is none, which other rules report."""
    try:
        return len(canonical_json(value))
    except (ValueError, TypeError, RecursionError):
        return None
