"""The forms of settings that are texts."""

from __future__ import annotations

import re
from datetime import datetime

from streams.settings.values import Format

_POSITIONS = re.compile(r"([A-Za-z0-9._-]+/\d{1,9}/\d{1,18}(,(?=.)|$))*")
POSITIONS = Format(
    "positions such as apc.events/0/31, separated by commas",
    lambda text: _POSITIONS.fullmatch(text) is not None,
)
MIN_GATEWAY_KEY_BYTES = 32
GATEWAY_KEYS = Format(
    f"one or two keys of {MIN_GATEWAY_KEY_BYTES} bytes or more, the new one first",
    lambda text: (
        len(keys := text.split(",")) <= 2
        and all(len(key.strip().encode()) >= MIN_GATEWAY_KEY_BYTES for key in keys)
    ),
)
_AGENT_PATTERNS = re.compile(r"[a-z0-9*-]{1,100}(,[a-z0-9*-]{1,100})*")
AGENT_PATTERNS = Format(
    "names of agents, separated by commas, in which * stands for any characters",
    lambda text: _AGENT_PATTERNS.fullmatch(text) is not None,
)
BEARER_TOKEN = Format(
    "a token of visible ASCII characters",
    lambda text: re.fullmatch(r"[!-~]+", text) is not None,
)
MIN_MAC_KEY_CHARS = 32


def _are_keys(text: str) -> bool:
    return all(len(key.strip()) >= MIN_MAC_KEY_CHARS for key in text.split(","))


def since_ms(text: str | None) -> int | None:
    """Return the time in ms since the epoch; None where it is unset.  Raises ValueError."""
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("a time without its zone")
    return round(time.timestamp() * 1000)


def _is_time(text: str) -> bool:
    try:
        return (since_ms(text) or 0) > 0
    except (ValueError, OverflowError, OSError):
        return False


MAC_KEYS = Format(
    f"keys of {MIN_MAC_KEY_CHARS} characters or more, parted by commas, the new one first",
    _are_keys,
)
MAC_SINCE = Format("a time with its zone, such as 2026-11-22T00:40:31.677Z", _is_time)
