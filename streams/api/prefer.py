"""The header `Prefer: wait=N` (RFC 7240): the seconds that a sender waits for an outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFER, APPLIED = "prefer", "Preference-Applied"
_WAIT = re.compile(r'[ \t]*wait[ \t]*=[ \t]*(?:"(\d+)"|(\d+))[ \t]*(?:;.*)?', re.I | re.A)


def wait_s(headers: Mapping[str, str], max_s: int) -> int | None:
    """Return the seconds to wait, at most `max_s`; None if the request does not ask to wait.

    Invalid preferences are ignored, as the RFC requires; the first of several counts.
    """
    header = next((text for name, text in headers.items() if name.lower() == PREFER), "")
    matches = (_WAIT.fullmatch(preference) for preference in header.split(","))
    digits = next((match[1] or match[2] for match in matches if match), None)
    return None if digits is None else _limit(digits.lstrip("0") or "0", max_s)


def _limit(digits: str, max_s: int) -> int:
    """Return the lower of both; the digits may be more than `int` accepts."""
    return max_s if len(digits) > len(str(max_s)) else min(int(digits), max_s)


def applied_header(seconds: int) -> dict[str, str]:
    return {APPLIED: f"wait={seconds}"}
