"""The closed sets of words of SAP (spec 2, 3.2)."""

from __future__ import annotations

VERSION = "2.0"
AGENT_KINDS = ("user", "system", "agent")
PRODUCER_KINDS = ("agent", "system")
LEVELS = ("instant", "consulted", "deliberated")
RISKS = ("low", "medium", "high")
MODES = ("prefer", "only", "bypass")
PRIORITIES = ("low", "normal", "high", "urgent")
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
"""What the service writes; an agent's own may be any text."""
MAX_ENVELOPE_BYTES = 524_288
"""The largest envelope, as canonical JSON."""
