"""Cursors of events: the next offset of each partition that an event type rests on.

A cursor is `c1.` and the base64url of the canonical JSON `{"n": name, "o": {topic: [offset, …]}}`.
It opens nothing that the arguments do not, so it is neither secret nor signed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import orjson

from schemas import canonical_json
from streams.doors.mcp.results import refused

Offsets = Mapping[str, list[int]]
"""By topic without prefix, the next offset of each partition."""
_BEGINNING = "c1."
_MOST_CHARACTERS = 16_384
_MOST_OFFSET = 1 << 53


def write_cursor(name: str, offsets: Offsets) -> str:
    """Return the cursor of an event type at these offsets."""
    text = canonical_json({"n": name, "o": dict(offsets)})
    return _BEGINNING + base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def parse_cursor(cursor: str, name: str, partitions: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the offsets of a cursor.

    partitions: the number of partitions of each topic.  Raises ToolRefused for a cursor of another
    type, of other topics or of another number of partitions.
    """
    value = _decode(cursor)
    match value:
        case {"n": str(of), "o": dict(offsets)} if (
            of == name and offsets.keys() == partitions.keys()
        ):
            if all(_is_vector(offsets[topic], count) for topic, count in partitions.items()):
                return offsets
    detail = f"the cursor is none of {name} with these arguments"
    raise refused(400, detail, "event_cursor", "/cursor")


def _decode(cursor: str) -> Any:
    text = cursor.removeprefix(_BEGINNING)
    if text == cursor or len(cursor) > _MOST_CHARACTERS:
        return None
    try:
        return orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return None


def _is_vector(value: Any, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(type(each) is int and 0 <= each < _MOST_OFFSET for each in value)
    )
