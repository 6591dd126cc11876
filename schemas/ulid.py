"""ULIDs (ASAP guide, 1): generated ones, and those that are derived from an input.

By hand, because the contract asks for more than the packages give: strictly increasing across
threads within one millisecond and when the clock is set back, and ids of given bits.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANDOM_BITS = 80
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]

_lock = threading.Lock()
_last = 0


def generate_id() -> str:
    """Return a new ULID, greater than all that this process has generated."""
    global _last
    fresh = time.time_ns() // 1_000_000 << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    with _lock:
        same_time = fresh >> _RANDOM_BITS <= _last >> _RANDOM_BITS
        _last = _last + 1 if same_time else fresh
        number = _last
    return _text(number)


def ulid(at_ms: int, randomness: bytes) -> str:
    """Return the ULID of a time (ms since the epoch, from 0 to 2^48 - 1) and ten bytes."""
    at_ms = min(max(at_ms, 0), (1 << 48) - 1)
    return _text(at_ms << _RANDOM_BITS | int.from_bytes(randomness, "big"))


def derived_id(cause: str, n: int, at_ms: int) -> str:
    """Return the id of a decision's n-th object.  cause: a position or a timer's id."""
    return ulid(at_ms, hashlib.sha256(f"{cause}/{n}".encode()).digest()[:10])


def extract_timestamp(ulid: str) -> datetime:
    """Return the time of a ULID, in UTC, in milliseconds.  Raises ValueError if it is no ULID."""
    if _ULID.fullmatch(str(ulid)) is None:
        raise ValueError(f"{ulid!r} is no ULID")
    number = 0
    for character in ulid[:10]:
        number = number << 5 | _ALPHABET.index(character)
    try:
        return _EPOCH + timedelta(milliseconds=number)
    except OverflowError as exc:
        raise ValueError(f"{ulid!r} is of no year that a datetime has") from exc


def _text(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])
