"""The text formats of ids and times in the protocols."""

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

MAX_ID = 256
"""Maximum characters of an id that senders choose: it becomes a key, or a part of keys."""


def is_uuid(text: str) -> bool:
    """Return whether a text is 8-4-4-4-12 hexadecimal digits, of any version (APC guide, 1)."""
    return _UUID.fullmatch(text) is not None


def is_rfc_uuid(text: str) -> bool:
    """Return whether a text is an RFC UUID or the nil UUID, in any case (SAOP guide, 3.2).

    An RFC UUID has version 1 to 8 and variant 8 to b.
    """
    return _RFC_UUID.fullmatch(text) is not None


def parse_time(text: str) -> int | None:
    """Parse an RFC 3339 date-time to nanoseconds since the epoch; None if it is not one.

    The date and time must exist, with `Z` or an offset, at most nine fraction digits, and no leap
    second (APC guide, 2.1).
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
    """Return seconds since the epoch; raise ValueError for an invalid date or time of day.

    Python has no year 0: year 400, which has the same days, is used and shifted back.
    """
    shift = 0
    if year == 0:
        year, shift = 400, 146_097 * 86_400
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    return since.days * 86_400 + since.seconds - shift


def is_saop_time(text: str) -> bool:
    """Check for `YYYY-MM-DDThh:mm[:ss[.fraction]]Z` with a valid date (SAOP guide, 3.2)."""
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
    """Format milliseconds since the epoch as `YYYY-MM-DDThh:mm:ss.mmmZ`."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def iso_us(us: int) -> str:
    """Format microseconds since the epoch as `YYYY-MM-DDThh:mm:ssZ` (ASAP guide, 2.1).

    There are six fraction digits if the fraction is not zero.  A number outside years 1 to 9999 is
    returned as decimal text.
    """
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat()[:-6] + "Z"
    except OverflowError:
        return str(us)


def parse_us(text: str) -> int | None:
    """Parse a date-time as `parse_time` does, to microseconds since the epoch, rounded down."""
    ns = parse_time(text)
    return None if ns is None else ns // 1_000


def parse_ms(text: str) -> int | None:
    """Parse a date-time as `parse_time` does, to milliseconds since the epoch, rounded down."""
    ns = parse_time(text)
    return None if ns is None else ns // 1_000_000
