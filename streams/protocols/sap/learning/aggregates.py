"""The aggregates of one kind of task: counts and sums over its outcomes and operator signals.

Metrics, checks and violations count computed outcomes only: an answer from the cache is no new
evidence.  A row stores only so much of what agents send that it cannot outgrow its topic.

Sums are exact: a number counts as its RFC 8785 spelling, not as its binary digits.  So 0.1 + 0.2
is 0.3, and a row does not depend on the order of its parts or on the rounding of a sum.

Every citation has a row with its count.  A count only grows, and by one, so the 50 most cited are
among the previous 50 and the one that has just grown.

Source: SAP guide, 5.5; NAMES and NAME_LENGTH are this service's own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sized
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, Protocol

from schemas import canonical_json
from streams.engine.processor import AvroValue

NOTES = 20
CITATIONS = 50
NAMES = 100
"""Maximum names in one map of a row; further ones are not counted."""
NAME_LENGTH = 256
"""Maximum code points of a name that is counted."""
_WORST = ("PASS", "UNCHECKED", "FAIL")
_NO_CHECKS: Mapping[str, int] = {"pass": 0, "fail": 0, "unchecked": 0}
NO_BEST: Mapping[str, Any] = {
    "ratedTaskId": None,
    "rating": None,
    "ratedAt": None,
    "successTaskId": None,
    "successAt": None,
    "playbookDue": 10,
    "validated": 0,
    "ratedSnippet": None,
    "successSnippet": None,
}


class Known(Sized, Container[str], Protocol):
    """The names that a map contains."""


def room_for(name: str, known: Known) -> bool:
    """Return whether a map may count this name: it contains the name, or has room for it."""
    return name in known or (len(known) < NAMES and len(name) <= NAME_LENGTH)


def checks_of(signal: Mapping[str, Any]) -> dict[str, str]:
    """Return the status of each check by name; of two with one name the worse."""
    statuses: dict[str, str] = {}
    for check in signal["policyChecks"]:
        name, status = check["principle"], check["status"]
        if status in _WORST and _WORST.index(status) >= _WORST.index(statuses.get(name, "PASS")):
            statuses[name] = status
    return statuses


def fold(row: AvroValue | None, signal: AvroValue) -> AvroValue:
    """Return the row after one signal, except citations, best task and version of heuristics."""
    after = dict(row or _first(signal))
    after["lastAt"] = max(after["lastAt"], signal["at"])
    after["firstAt"] = min(after["firstAt"], signal["at"])
    if signal["kind"] == "outcome":
        after |= _outcome(after, signal)
    elif signal["kind"] == "rating" and signal["rating"] is not None:
        after["ratings"] = _add_rating(after["ratings"], signal["rating"])
    elif signal["kind"] == "approval":
        decided = "approved" if signal["decision"] == "approved" else "rejected"
        after[decided] += 1
    if signal["kind"] != "outcome" and signal["note"]:
        after["notes"] = [*after["notes"], signal["note"]][-NOTES:]
    return after


def _outcome(row: AvroValue, signal: AvroValue) -> AvroValue:
    changed: AvroValue = {
        "outcomes": row["outcomes"] + 1,
        "cacheHits": row["cacheHits"] + signal["cacheHit"],
        "statusCounts": _count_names(row["statusCounts"], [signal["status"]]),
        "alignmentCounts": _count_names(row["alignmentCounts"], [signal["alignment"]]),
        "nextActionCounts": _count_names(row["nextActionCounts"], signal["nextActions"]),
    }
    if signal["computed"]:
        severities = [violation["severity"] for violation in signal["violations"]]
        changed["computed"] = row["computed"] + 1
        changed["checkCounts"] = _count_checks(row["checkCounts"], checks_of(signal))
        changed["violationCounts"] = _count_names(row["violationCounts"], severities)
        changed["metrics"] = _add_metrics(row["metrics"], signal["metrics"])
    return changed


def _count_names(counts: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    after = dict(counts)
    for name in names:
        if room_for(name, after):
            after[name] = after.get(name, 0) + 1
    return after


def _count_checks(counts: Mapping[str, Any], checks: Mapping[str, str]) -> dict[str, Any]:
    after = dict(counts)
    for name, status in checks.items():
        if room_for(name, after):
            before = after.get(name, _NO_CHECKS)
            after[name] = {**before, status.lower(): before[status.lower()] + 1}
    return after


def _add_metrics(sums: Mapping[str, Any], metrics: Mapping[str, float]) -> dict[str, Any]:
    after = dict(sums)
    for name, number in metrics.items():
        if room_for(name, after):
            before = after.get(name)
            after[name] = {
                "count": before["count"] + 1 if before else 1,
                "sum_json": add_exactly(before["sum_json"] if before else ZERO, number),
                "min": min(before["min"], number) if before else number,
                "max": max(before["max"], number) if before else number,
            }
    return after


def _add_rating(ratings: Mapping[str, Any], rating: int) -> dict[str, Any]:
    first = ratings["count"] == 0
    return {
        "count": ratings["count"] + 1,
        "sum": ratings["sum"] + rating,
        "min": rating if first else min(ratings["min"], rating),
        "max": rating if first else max(ratings["max"], rating),
    }


def update_best(row: AvroValue | None, signal: AvroValue) -> AvroValue:
    """Return the tasks that a playbook would name: the best rated and the latest success."""
    after = dict(row or NO_BEST)
    at, task_id = signal["at"], signal["taskId"].lower()
    if signal["kind"] == "rating" and signal["rating"] is not None:
        rated = (signal["rating"], at)
        if after["rating"] is None or rated >= (after["rating"], after["ratedAt"]):
            after |= {"ratedTaskId": task_id, "rating": signal["rating"], "ratedAt": at}
            after["ratedSnippet"] = signal.get("snippet")
    if signal["kind"] == "outcome" and signal["computed"] and is_validated(signal):
        after["validated"] += 1
        if after["successAt"] is None or at >= after["successAt"]:
            after |= {"successTaskId": task_id, "successAt": at}
            after["successSnippet"] = signal.get("snippet")
    return after


def is_validated(signal: Mapping[str, Any]) -> bool:
    return bool(signal["status"] == "SUCCEEDED" and signal["alignment"] == "VALID")


def _first(signal: AvroValue) -> AvroValue:
    return {
        "capability": signal["capability"],
        "territory": signal["territory"],
        "fingerprint": signal["fingerprint"],
        **dict.fromkeys(("outcomes", "computed", "cacheHits", "approved", "rejected"), 0),
        **{name: {} for name in _MAPS},
        "ratings": {"count": 0, "sum": 0, "min": None, "max": None},
        "notes": [],
        "bestTaskId": None,
        "firstAt": signal["at"],
        "lastAt": signal["at"],
        "heuristicsVersion": 0,
    }


_MAPS = (
    "statusCounts",
    "alignmentCounts",
    "checkCounts",
    "violationCounts",
    "metrics",
    "citationCounts",
    "nextActionCounts",
)


def most_counted(counts: Mapping[str, int], limit: int) -> list[str]:
    """Return the names with the highest counts, equal ones by code point."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:limit]


def grow_citations(
    counts: Mapping[str, int], cited: list[str], count_up: Callable[[str], int]
) -> dict[str, int]:
    """Return the most cited after one outcome; what it cites twice counts once.

    count_up: counts a citation in its row and returns how often it was named.
    """
    after = dict(counts)
    for citation in dict.fromkeys(cited):
        after[citation] = count_up(citation)
        after = {name: after[name] for name in most_counted(after, CITATIONS)}
    return after


# Enough digits for any sum of doubles, from 10^-324 to 10^308, with carries.
_EXACT = Context(prec=700, traps=[Inexact])
ZERO = "0"


def exact_decimal(number: float) -> Decimal:
    """Return the decimal that RFC 8785 spells."""
    return Decimal(canonical_json(number).decode())


def add_exactly(total: str, number: float) -> str:
    """Add a number to a sum in decimal digits."""
    return str(_EXACT.add(Decimal(total), exact_decimal(number)))


def nearest_double(total: str) -> float:
    """Return the double nearest to a sum; the largest double where the sum is larger."""
    near = float(Decimal(total))
    return math.copysign(sys.float_info.max, near) if math.isinf(near) else near


def mean_of(total: str, count: int) -> float:
    """Return the double next to the exact mean."""
    return float(Fraction(Decimal(total)) / count)
