"""The steps after each answer of a backend, and the pauses between attempts.

Source: OTel guide, 10.2.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from enum import Enum

MAX_PAUSE_S = 60.0
_MAX_RETRY_AFTER_S = 600.0
_SPREAD = 0.2


class Action(Enum):
    """The next step after an answer."""

    DONE = "the spans were taken"
    WAIT = "send the same spans again, for as long as it takes"
    ADVISE = "as WAIT, and say what is wrong: only a person can put it right"
    RETRY = "send the same spans again a few times, then as SPLIT"
    SPLIT = "send each half by itself, down to the one span that is refused"


def action_of(status: int) -> Action:
    """Return what an HTTP status asks for; no answer at all asks for WAIT."""
    if status in (429, 502, 503, 504):
        return Action.WAIT
    if status in (401, 403, 404):
        return Action.ADVISE
    if 200 <= status < 300:
        return Action.DONE
    return Action.RETRY if status >= 500 else Action.SPLIT


def pause_s(attempt: int, retry_after: str | None, now_s: float, draw: float) -> float:
    """Return the seconds until the next attempt: those of Retry-After, else 1, 2, 4 … 60 ± 20 %.

    attempt: from 0.  now_s: since the epoch.  draw: a random number, from 0 to 1.
    """
    requested_s = None if retry_after is None else _parse_retry_after(retry_after, now_s)
    if requested_s is not None:
        return min(max(0.0, requested_s), _MAX_RETRY_AFTER_S)
    doubled_s = min(2.0 ** min(attempt, 6), MAX_PAUSE_S)
    return doubled_s * (1 - _SPREAD + 2 * _SPREAD * draw)


def _parse_retry_after(text: str, now_s: float) -> float | None:
    """Return the seconds that a Retry-After gives, as a number or a date; None for neither."""
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return float(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now_s
    except (ValueError, TypeError, OverflowError):
        return None
