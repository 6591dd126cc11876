"""The enumerations of SAP, and the forms of its texts: ids, times, blank texts.

Source: SAP guide, 1, 2, 3.1 and 3.2.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from schemas.formats import is_uuid

NAMESPACE = "headrace.sap"
"""The namespace of the Avro records."""
VERSION = "2.0"
AGENT_KINDS = ("user", "system", "agent")
PRODUCER_KINDS = ("agent", "system")
LEVELS = ("instant", "consulted", "deliberated")
RISKS = ("low", "medium", "high")
MODES = ("prefer", "only", "bypass")
PRIORITIES = ("low", "normal", "high", "urgent")
NORMAL = "normal"
"""The priority of a task that has none."""
STATUSES = ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED", "PARTIAL")
TERMINAL = ("SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED")
ALIGNMENTS = ("VALID", "ESCALATE", "NON_CONSTITUTIONAL")
"""From the best to the worst."""
CHECK_STATUSES = ("PASS", "FAIL", "UNCHECKED")
SEVERITIES = ("low", "medium", "high", "critical")
SIGNAL_KINDS = ("rating", "note", "approval", "cancel")
DECISIONS = ("approved", "rejected")
ERROR_CODES = (
    "INVALID_TASK",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "UNPROCESSABLE",
    "TIMEOUT",
    "RATE_LIMIT",
    "INTERNAL",
    "CACHE_MISS",
    "NON_CONSTITUTIONAL",
)
"""The codes that the service writes; an agent's may be any text."""
MAX_ENVELOPE_BYTES = 524_288
"""The largest envelope, as canonical JSON."""

WHITE_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters with the Unicode property White_Space."""

_TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")
_CAPABILITY = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
MAX_NAME = 256


def is_blank(text: str) -> bool:
    return not text.strip(WHITE_SPACE)


def is_agent_id(text: str) -> bool:
    """Return whether the text has 1 to 256 characters, no control character, no blank at an end."""
    whole = 0 < len(text) <= MAX_NAME and text == text.strip(WHITE_SPACE)
    return whole and not any(unicodedata.category(character) == "Cc" for character in text)


def is_capability(text: str) -> bool:
    return len(text) <= MAX_NAME and _CAPABILITY.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Return whether the text is a UUID of 36 characters in any case and version, or nil."""
    return is_uuid(text)


def parse_seconds(text: str) -> int | None:
    """Return the seconds since the epoch of `YYYY-MM-DDTHH:MM:SSZ`; None for an invalid time."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = map(int, match.groups())
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp())


def protocol_time(ms: int) -> str:
    """Return the time in the protocol's form, truncated to the second."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return moment.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def delivery_rank(task: Mapping[str, Any]) -> int:
    """Return the rank of a task in its JSON form among those that wait: the smallest goes first."""
    priority = (task.get("telemetry") or {}).get("priority") or NORMAL
    return -PRIORITIES.index(priority)
