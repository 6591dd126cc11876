"""`Prefer: wait=N` (RFC 7240): how long a sender would wait for what comes of an envelope."""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFER, APPLIED = "prefer", "Preference-Applied"
_WAIT = re.compile(r'[ \t]*wait[ \t]*=[ \t]*(?:"(\d+)"|(\d+))[ \t]*(?:;.*)?', re.I | re.A)


def wait_s(headers: Mapping[str, str], most_s: int) -> int | None:
    """Seconds, cut to the most allowed; None when nobody wants to wait.

    A preference that is none is ignored, as the RFC has it; of several the first counts.
    """
    given = next((text for name, text in headers.items() if name.lower() == PREFER), "")
    found = (_WAIT.fullmatch(preference) for preference in given.split(","))
    digits = next((match[1] or match[2] for match in found if match), None)
    return None if digits is None else _cut(digits.lstrip("0") or "0", most_s)


def _cut(digits: str, most_s: int) -> int:
    """The lower one; a number may have more digits than `int` takes."""
    return most_s if len(digits) > len(str(most_s)) else min(int(digits), most_s)


def applied(seconds: int) -> dict[str, str]:
    return {APPLIED: f"wait={seconds}"}
