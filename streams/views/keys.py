"""Keys of a view's rows: tuples, encoded so that bytes sort as the tuples do.

A text ends with 00 01, and a NUL inside it is written 00 FF; so no encoded tuple is a prefix of
another unless its parts are.  Numbers take eight bytes, with the sign bit turned.
"""

from __future__ import annotations

_SIGN = 1 << 63


def key(*parts: str | int) -> bytes:
    """Numbers must fit in 64 bits, with sign."""
    return b"".join(map(_part, parts))


def _part(part: str | int) -> bytes:
    if isinstance(part, int):
        return (part + _SIGN).to_bytes(8, "big")
    return part.encode().replace(b"\0", b"\0\xff") + b"\0\1"


def number_at_end(encoded: bytes) -> int:
    """The last part of a key, which is a number."""
    return int.from_bytes(encoded[-8:], "big") - _SIGN


def after(encoded: bytes) -> bytes:
    """The least key that is greater than this one and all that begin with it.

    Parts never begin with FF, so nothing lies between.
    """
    return encoded + b"\xff"
