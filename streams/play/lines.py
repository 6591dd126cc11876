"""Parsing of the lines of a scenario."""

from __future__ import annotations

import base64
from typing import Any

from schemas import parse_ijson
from schemas.formats import parse_time
from streams.engine.records import Headers
from streams.errors import UsageError

Json = dict[str, Any]
LAST_MS = 221_845_392_000_000 - 1
_MEMBERS = {
    "topic": ("topic", "key", "timestamp", "value", "raw_base64", "as", "headers"),
    "advance_ms": ("advance_ms",),
    "query": ("query", "headers", "body"),
    "restart": ("restart",),
}


class LineError(UsageError):
    """A line of a scenario that is malformed or cannot be carried out."""

    default_advice = "See `headrace play --help`."


def parse_line(text: str) -> Json:
    line = parse_ijson(text, surrogates=True)
    if not isinstance(line, dict):
        raise LineError("not a JSON object")
    for member, members in _MEMBERS.items():
        if member in line:
            unknown = sorted(set(line) - set(members))
            if unknown:
                raise LineError(f"unknown member {unknown[0]}; known are {', '.join(members)}")
            return line
    raise LineError(f"none of {', '.join(_MEMBERS)} is there")


def parse_time_ms(value: object) -> int:
    ns = parse_time(value) if isinstance(value, str) else None
    if ns is None:
        raise LineError(f"timestamp {value!r} is not a date-time with a zone")
    return check_time(ns // 1_000_000)


def check_time(ms: int) -> int:
    """Return a time that logs and date-times can hold; raise LineError for any other."""
    if not 0 <= ms <= LAST_MS:
        raise LineError("the clock of a scenario goes from 1970 to the end of 8999")
    return ms


def parse_duration_ms(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LineError(f"advance_ms {value!r} is not a whole number of ms")
    return value


def parse_raw(value: object) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except ValueError as exc:  # binascii.Error, or a character beyond ASCII
        raise LineError(f"raw_base64 is not base64: {exc}") from exc


def parse_key(value: object) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise LineError("key is a string or null")
    return _utf8(value, "key")


def parse_headers(value: object) -> Headers:
    if value is None:
        return []
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise LineError("headers are an object of strings")
    return [(name, _utf8(text, "a header")) for name, text in value.items()]


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise LineError(f"{name} has a lone surrogate") from exc
