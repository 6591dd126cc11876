"""Cursors of events: the next offset of each partition of the topics that they rest on.

A cursor is `c1.` and the base64url of the canonical JSON `{"n": name, "o": {topic: [offset, …]}}`.
It opens nothing that the name and arguments do not, so it is neither secret nor signed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from schemas import canonical_json

Offsets = Mapping[str, list[int]]
"""By topic without prefix, the next offset of each partition."""
_BEGINNING = "c1."
_MOST_CHARACTERS = 16_384
_MOST_OFFSET = 1 << 53


class Cursor(NamedTuple):
    """A position in events.  name: of their type."""

    name: str
    offsets: Offsets

    def fits(self, name: str, partitions: Mapping[str, int]) -> bool:
        """Return whether it is of this type and these topics.  partitions: how many each has."""
        return (
            self.name == name
            and self.offsets.keys() == partitions.keys()
            and all(len(self.offsets[topic]) == count for topic, count in partitions.items())
        )


def write_cursor(name: str, offsets: Offsets) -> str:
    """Return the cursor of a type of events at these offsets."""
    text = canonical_json({"n": name, "o": dict(offsets)})
    return _BEGINNING + base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def read_cursor(text: str) -> Cursor | None:
    """Return what a cursor says, None for a text that is none."""
    encoded = text.removeprefix(_BEGINNING)
    if encoded == text or len(text) > _MOST_CHARACTERS:
        return None
    try:
        value = orjson.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (binascii.Error, ValueError):
        return None
    match value:
        case {"n": str(name), "o": dict(offsets)} if all(map(_is_vector, offsets.values())):
            return Cursor(name, offsets)
    return None


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and all(
        type(each) is int and 0 <= each < _MOST_OFFSET for each in value
    )
