"""Values of SQL results in JSON and as text."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

_EXACT = 2**53
Json = Any


def json_value(value: Any) -> Json:
    """Return a value for JSON, so that no reader loses a digit.

    Integers beyond 2^53 and decimals become text, and so do the doubles that JSON has not.  Times
    are those of the API, in UTC.  Bytes are hexadecimal.
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(json_value(name)): json_value(each) for name, each in value.items()}
        case list() | tuple():
            return [json_value(each) for each in value]
        case _:
            return _text(value)


def _text(value: Any) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            precision = "microseconds" if value.microsecond % 1000 else "milliseconds"
            text = moment.replace(tzinfo=None).isoformat(timespec=precision)
            return f"{text}Z" if value.tzinfo else text
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g} s"
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case UUID():
            return str(value)
        case _:
            return str(value)
