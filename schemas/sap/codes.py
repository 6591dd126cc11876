"""What a rule that refuses is called in a NACK, and over HTTP (spec 3.2)."""

from __future__ import annotations

from schemas.rules import Stage
from schemas.sap import rules

_KEY = (rules.KEY_MISMATCH, rules.PARTITION_MISMATCH)
_SHAPE = frozenset(rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA or rule in _KEY)

REFUSALS: dict[str, tuple[str, int]] = {
    rule.code: (code, status)
    for code, status, group in (
        (
            "UNPROCESSABLE",
            409,
            (
                rules.TASK_ID_CONFLICT,
                rules.SIGNAL_ID_CONFLICT,
                rules.TASK_CLOSED,
                rules.ILLEGAL_TRANSITION,
                rules.NOT_DISPATCHED,
                rules.SIGNAL_REPEATED,
                rules.SIGNAL_TOO_EARLY,
                rules.DESTINATION_UNAVAILABLE,
            ),
        ),
        ("UNPROCESSABLE", 422, (rules.CORRELATION_MISMATCH,)),
        ("NOT_FOUND", 404, (rules.UNKNOWN_TASK, rules.UNKNOWN_DESTINATION, rules.NO_HANDLER)),
        ("UNAUTHORIZED", 401, (rules.UNAUTHORIZED,)),
        (
            "FORBIDDEN",
            403,
            (rules.FORBIDDEN, rules.PRODUCER_MISMATCH, rules.SELF_RATING, rules.NOT_ISSUER),
        ),
        ("RATE_LIMIT", 429, (rules.RATE_LIMITED,)),
    )
    for rule in group
}
"""The NACK's code and the status of an answer that waited for it; rules of shape are not here."""


def nack_code(rule: str, subject: str) -> str:
    """subject: `TASK`, `RESULT` or `SIGNAL`.  KeyError for a rule that refuses nothing."""
    if rule in _SHAPE:
        return "INVALID_TASK" if subject == "TASK" else "UNPROCESSABLE"
    return REFUSALS[rule][0]


def http_status(rule: str) -> int:
    """Of the answer to a request that waited for the verdict; KeyError likewise."""
    return 422 if rule in _SHAPE else REFUSALS[rule][1]
