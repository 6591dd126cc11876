"""What is known of one kind of task: counts and sums over its outcomes and its operators.

Metrics, checks and violations count computed outcomes only: an answer from the cache is no new
evidence.  Sums are exact, so the row does not depend on how a sum would have been rounded.

Source: SAP spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.sap.learning import decimals
from streams.protocols.sap.learning.bounds import NOTES, room_for

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
}


def checks_of(signal: Mapping[str, Any]) -> dict[str, str]:
    """The status of each check by name; of two with one name the worse."""
    found: dict[str, str] = {}
    for check in signal["policyChecks"]:
        name, status = check["principle"], check["status"]
        if status in _WORST and _WORST.index(status) >= _WORST.index(found.get(name, "PASS")):
            found[name] = status
    return found


def fold(row: AvroValue | None, signal: AvroValue) -> AvroValue:
    """The row after one signal, but for citations, best task and version of heuristics."""
    after = dict(row or _first(signal))
    after["lastAt"] = max(after["lastAt"], signal["at"])
    after["firstAt"] = min(after["firstAt"], signal["at"])
    if signal["kind"] == "outcome":
        after |= _outcome(after, signal)
    elif signal["kind"] == "rating" and signal["rating"] is not None:
        after["ratings"] = _rated(after["ratings"], signal["rating"])
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
        "statusCounts": _counted(row["statusCounts"], [signal["status"]]),
        "alignmentCounts": _counted(row["alignmentCounts"], [signal["alignment"]]),
        "nextActionCounts": _counted(row["nextActionCounts"], signal["nextActions"]),
    }
    if signal["computed"]:
        severities = [violation["severity"] for violation in signal["violations"]]
        changed["computed"] = row["computed"] + 1
        changed["checkCounts"] = _checked(row["checkCounts"], checks_of(signal))
        changed["violationCounts"] = _counted(row["violationCounts"], severities)
        changed["metrics"] = _measured(row["metrics"], signal["metrics"])
    return changed


def _counted(counts: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    after = dict(counts)
    for name in names:
        if room_for(name, after):
            after[name] = after.get(name, 0) + 1
    return after


def _checked(counts: Mapping[str, Any], checks: Mapping[str, str]) -> dict[str, Any]:
    after = dict(counts)
    for name, status in checks.items():
        if room_for(name, after):
            before = after.get(name, _NO_CHECKS)
            after[name] = {**before, status.lower(): before[status.lower()] + 1}
    return after


def _measured(sums: Mapping[str, Any], metrics: Mapping[str, float]) -> dict[str, Any]:
    after = dict(sums)
    for name, number in metrics.items():
        if room_for(name, after):
            before = after.get(name)
            after[name] = {
                "count": before["count"] + 1 if before else 1,
                "sum_json": decimals.add(before["sum_json"] if before else decimals.ZERO, number),
                "min": min(before["min"], number) if before else number,
                "max": max(before["max"], number) if before else number,
            }
    return after


def _rated(ratings: Mapping[str, Any], rating: int) -> dict[str, Any]:
    first = ratings["count"] == 0
    return {
        "count": ratings["count"] + 1,
        "sum": ratings["sum"] + rating,
        "min": rating if first else min(ratings["min"], rating),
        "max": rating if first else max(ratings["max"], rating),
    }


def best(row: AvroValue | None, signal: AvroValue) -> AvroValue:
    """The tasks that a playbook would name: the best rated, and the latest that succeeded."""
    after = dict(row or NO_BEST)
    at, task_id = signal["at"], signal["taskId"].lower()
    if signal["kind"] == "rating" and signal["rating"] is not None:
        rated = (signal["rating"], at)
        if after["rating"] is None or rated >= (after["rating"], after["ratedAt"]):
            after |= {"ratedTaskId": task_id, "rating": signal["rating"], "ratedAt": at}
    if signal["kind"] == "outcome" and signal["computed"] and is_validated(signal):
        after["validated"] += 1
        if after["successAt"] is None or at >= after["successAt"]:
            after |= {"successTaskId": task_id, "successAt": at}
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
