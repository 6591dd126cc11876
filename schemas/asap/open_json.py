"""The open members: JSON objects of the sender, which RFC 8785 must be able to represent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.nesting import MAX_OPEN_NESTING, too_deep

JsonObject = dict[str, Any]
JsonPath = tuple[str | int, ...]
_STRICT = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

OPEN: dict[str, tuple[str, ...]] = {
    "TaskRequest": ("input", "config"),
    "TaskResponse": ("result", "final_state", "metrics"),
    "TaskUpdate": ("progress", "input_request"),
    "McpToolCall": ("arguments", "mcp_context"),
    "McpToolResult": ("result",),
    "McpResourceData": ("content",),
}
"""The open members of payloads."""
_OPEN_PART_MEMBERS = ("data", "variables")
_NOT_NULLABLE = frozenset({"input", "arguments", "content", *_OPEN_PART_MEMBERS})
"""The open members that may not be null."""


def open_members(envelope: dict[str, Any], name: str | None) -> Iterator[tuple[JsonPath, Any]]:
    """Yield the open members that are present, with their paths; not a null that is allowed."""
    if envelope.get("extensions") is not None:
        yield ("extensions",), envelope["extensions"]
    payload = envelope.get("payload")
    if not isinstance(payload, dict):
        return
    for member in OPEN.get(name or "", ()):
        if payload.get(member) is not None or (member in _NOT_NULLABLE and member in payload):
            yield ("payload", member), payload[member]
    if name == "MessageSend" and isinstance(payload.get("parts"), list):
        for i, part in enumerate(payload["parts"]):
            if isinstance(part, dict):
                for member in _OPEN_PART_MEMBERS:
                    if member in part:
                        yield ("payload", "parts", i, member), part[member]


def open_member_problem(value: Any) -> str | None:
    """Return what is wrong with an open member, None if it is valid."""
    if not isinstance(value, dict):
        return "must be an object"
    text = _text(value)
    shallow = text is not None and text.count(b"{") + text.count(b"[") <= MAX_OPEN_NESTING
    if not shallow and too_deep(value, limit=MAX_OPEN_NESTING):
        return f"nests above {MAX_OPEN_NESTING}"
    return None if text is not None and b"null" not in text else _value_problem(value)


def _text(value: JsonObject) -> bytes | None:
    """Return orjson's text of an object; without a null in it, it needs no walk over the values.

    orjson refuses lone surrogates and integers that are too large, and writes null for a number
    that is not finite.
    """
    try:
        return orjson.dumps(value, option=_STRICT)
    except TypeError:
        return None


def _value_problem(value: Any) -> str | None:
    kind = type(value)
    if kind is str:
        return None if value.isascii() or _is_text(value) else "holds a lone surrogate"
    if kind is dict:
        for name, item in value.items():
            problem = _name_problem(name) or (None if item is None else _value_problem(item))
            if problem:
                return problem
        return None
    if kind is list:
        return next((problem for item in value if (problem := _value_problem(item))), None)
    if value is None or kind is bool:
        return None
    if kind is int:
        safe = -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
        return None if safe else f"holds an integer beyond {MAX_SAFE_INTEGER}"
    if kind is float:
        return None if math.isfinite(value) else "holds a number that is not finite"
    return "holds what is no JSON"


def _name_problem(name: Any) -> str | None:
    if type(name) is not str:
        return "holds a name that is no text"
    return None if name.isascii() or _is_text(name) else "holds a lone surrogate"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
