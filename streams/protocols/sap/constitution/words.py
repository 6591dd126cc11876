"""The words in which alignment is spoken of, and how they weigh.

Source: SAP spec, 2.2, 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

VALID, ESCALATE, NON_CONSTITUTIONAL = "VALID", "ESCALATE", "NON_CONSTITUTIONAL"
ALIGNMENTS = (VALID, ESCALATE, NON_CONSTITUTIONAL)
"""From the best to the worst."""

PASS, UNCHECKED, FAIL = "PASS", "UNCHECKED", "FAIL"
STATUSES = (PASS, UNCHECKED, FAIL)
"""Of a check, from the best to the worst."""

LOW, MEDIUM, HIGH, CRITICAL = "low", "medium", "high", "critical"
SEVERITIES = (LOW, MEDIUM, HIGH, CRITICAL)
RISKS = (LOW, MEDIUM, HIGH)

INSTANT, CONSULTED, DELIBERATED = "instant", "consulted", "deliberated"
LEVELS = (INSTANT, CONSULTED, DELIBERATED)

TASK, PARTIAL, FINAL, CACHED = "task", "partial", "final", "cached"
PHASES = (TASK, PARTIAL, FINAL, CACHED)

_ALL_VALID = (VALID, VALID, VALID)
VOTES: Mapping[str, tuple[str, str, str]] = {
    CRITICAL: (NON_CONSTITUTIONAL, NON_CONSTITUTIONAL, NON_CONSTITUTIONAL),
    HIGH: (NON_CONSTITUTIONAL, ESCALATE, ESCALATE),
    MEDIUM: (ESCALATE, VALID, VALID),
    LOW: _ALL_VALID,
}
"""By severity of a violation: the vote at each risk tolerance."""


def vote_of(severity: object, risk: object) -> str:
    """What a violation says of the whole; an unknown tolerance counts as medium."""
    votes = VOTES.get(severity, _ALL_VALID) if isinstance(severity, str) else _ALL_VALID
    return votes[RISKS.index(risk) if risk in RISKS else 1]


def worst(alignments: Iterable[str]) -> str:
    """The highest vote; VALID if there is none."""
    return max(alignments, key=ALIGNMENTS.index, default=VALID)


def worse_status(one: str, other: str) -> str:
    return max(one, other, key=STATUSES.index)
