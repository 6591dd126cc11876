"""Row keys of a view: tuples, encoded so that their bytes sort as the tuples do.

A text ends with 00 01, and a NUL inside it is written 00 FF; so no encoded tuple is a prefix of
another unless its parts are.  Numbers take eight bytes, with the sign bit flipped.
"""

from __future__ import annotations

from struct import Struct

_SIGN = 1 << 63


def key(*parts: str | int) -> bytes:
    """Encode a tuple as a key.  Numbers must fit into 64 bits with sign."""
    return b"".join([text_key(p) if isinstance(p, str) else _number(p) for p in parts])


def _number(number: int) -> bytes:
    return (number + _SIGN).to_bytes(8, "big")


def text_key(text: str) -> bytes:
    """Encode one text as `key` does."""
    return text.encode().replace(b"\0", b"\0\xff") + b"\0\1"


def texts_in(encoded: bytes) -> list[str]:
    """Decode a key whose parts are all texts."""
    return [part.replace(b"\0\xff", b"\0").decode() for part in encoded.split(b"\0\1")[:-1]]


def first_text(encoded: bytes) -> str:
    """Decode the first part of a key, which must be a text."""
    return encoded.partition(b"\0\1")[0].replace(b"\0\xff", b"\0").decode()


_PLACE = Struct(">QQQ").pack


def position_key(at: int, partition: int, offset: int) -> bytes:
    """Encode a time, a partition and an offset as `key` does; none of them may be negative."""
    return _PLACE(at + _SIGN, partition + _SIGN, offset + _SIGN)


def number_at_end(encoded: bytes) -> int:
    """Decode the last part of a key, which must be a number."""
    return int.from_bytes(encoded[-8:], "big") - _SIGN


def after(encoded: bytes) -> bytes:
    """Return the least key that is greater than this one and all keys that begin with it.

    Parts never begin with FF, so no key lies between.
    """
    return encoded + b"\xff"


def position_at_end(encoded: bytes) -> tuple[int, int, int]:
    """Decode the last three parts of a key, which must be numbers."""
    first, second, third = (number_at_end(encoded[: len(encoded) - at]) for at in (16, 8, 0))
    return first, second, third
