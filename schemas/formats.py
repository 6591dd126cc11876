"""Textual formats of the protocols: ids and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RFC_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    r"|00000000-0000-0000-0000-000000000000",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_SAOP_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?Z"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_uuid(text: str) -> bool:
    """8-4-4-4-12 hexadecimal digits in any case, any version (apc spec 1)."""
    return _UUID.fullmatch(text) is not None


def is_rfc_uuid(text: str) -> bool:
    """A UUID of version 1 to 8 and variant 8 to b in any case, or the nil UUID (saop spec 3.2)."""
    return _RFC_UUID.fullmatch(text) is not None


def parse_time(text: str) -> int | None:
    """Nanoseconds since the epoch of an RFC 3339 date-time, or None if it is none.

    Of a real instant, with `Z` or an offset, at most nine fraction digits, no leap second
    (apc spec 2.1).
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, off_hour, off_minute = match.groups()
    try:
        seconds = _seconds(int(year), int(month), int(day), int(hour), int(minute), int(second))
    except ValueError:
        return None
    if sign:
        if int(off_hour) > 23 or int(off_minute) > 59:
            return None
        offset = int(off_hour) * 3600 + int(off_minute) * 60
        seconds -= offset if sign == "+" else -offset
    return seconds * 1_000_000_000 + (int(fraction.ljust(9, "0")) if fraction else 0)


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    """Seconds since the epoch; ValueError for what is no date or time of day.

    Year 0 is taken as year 400, which has the same days, and moved back.
    """
    shift = 0
    if year == 0:
        year, shift = 400, 146_097 * 86_400
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    return since.days * 86_400 + since.seconds - shift


def is_saop_time(text: str) -> bool:
    """`YYYY-MM-DDThh:mm[:ss[.fraction]]Z` of a real Gregorian date (saop spec 3.2)."""
    match = _SAOP_TIME.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second = match.groups()
    try:
        _seconds(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))
    except ValueError:
        return False
    return True


def iso_ms(ms: int) -> str:
    """`YYYY-MM-DDThh:mm:ss.mmmZ` of milliseconds since the epoch."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def iso_us(us: int) -> str:
    """`YYYY-MM-DDThh:mm:ssZ` of microseconds since the epoch, with six fraction digits if there
    are any (asap spec 2.1); the number itself as text where it is no date of four digits.
    """
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat()[:-6] + "Z"
    except OverflowError:
        return str(us)


def parse_us(text: str) -> int | None:
    """Microseconds since the epoch, floored, of a date-time as `parse_time` takes it."""
    ns = parse_time(text)
    return None if ns is None else ns // 1_000


def parse_ms(text: str) -> int | None:
    """Milliseconds since the epoch, floored, of a date-time as `parse_time` takes it."""
    ns = parse_time(text)
    return None if ns is None else ns // 1_000_000
