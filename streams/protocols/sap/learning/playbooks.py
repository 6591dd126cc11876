"""The playbook of a kind of task: how it is done well, once enough tasks succeeded.

A kind of task qualifies with 5 computed outcomes or more, four fifths of them succeeded and valid,
a mean rating of 4 from two ratings or more, or an approval, and no rejection.  The playbook is
written when the kind first qualifies, each time the computed outcomes have doubled from 10 on, and
after each operator signal; when it no longer qualifies, once more, as inactive.

Source: SAP guide, 5.5; 5.1 (edges).
"""

from __future__ import annotations

from fractions import Fraction

from streams.engine.processor import AvroValue, ProcessorContext
from streams.processing.decision import emit_edge
from streams.protocols.sap.learning import punch_cards
from streams.protocols.sap.learning.aggregates import mean_of, most_counted
from streams.protocols.sap.learning.heuristics import record_sha256
from topology.sap import SAP_KNOWLEDGE_TABLE

SAMPLES = 5
RATINGS = 2
MEAN_RATING = 4
CITATIONS = 10
NOTES = 10
NEXT_ACTIONS = 5
_SHARE = Fraction(4, 5)
_REQUIRED = Fraction(9, 10)


def qualifies(row: AvroValue, best: AvroValue) -> bool:
    if row["computed"] < SAMPLES or row["rejected"] > 0:
        return False
    if best["validated"] < _SHARE * row["computed"]:
        return False
    ratings = row["ratings"]
    liked = ratings["count"] >= RATINGS and ratings["sum"] >= MEAN_RATING * ratings["count"]
    return bool(liked or row["approved"] > 0)


def next_due(due: int, computed: int) -> int:
    """Return `due`, doubled until it is above the number of computed outcomes (10, 20, 40, …)."""
    while due <= computed:
        due *= 2
    return due


def version(
    before: AvroValue | None, row: AvroValue, best: AvroValue, signal: AvroValue
) -> AvroValue | None:
    """Return the version that a signal makes, if it makes one.

    row, best: after the signal; best with the `playbookDue` from before it.
    """
    active = qualifies(row, best)
    was_active = before is not None and before["active"]
    due = signal["kind"] != "outcome" or row["computed"] >= best["playbookDue"]
    if active and (due or not was_active):
        return _next_version(before, row, best, signal["at"], active=True)
    if was_active and not active:
        return _next_version(before, row, best, signal["at"], active=False)
    return None


def _next_version(
    before: AvroValue | None, row: AvroValue, best: AvroValue, at: int, *, active: bool
) -> AvroValue:
    computed, ratings = row["computed"], row["ratings"]
    means = {name: mean_of(m["sum_json"], m["count"]) for name, m in row["metrics"].items()}
    passed = {name: count["pass"] for name, count in row["checkCounts"].items()}
    book: AvroValue = {
        "capability": row["capability"],
        "territory": row["territory"],
        "fingerprint": row["fingerprint"],
        "kind": "playbook",
        "version": before["version"] + 1 if before else 1,
        "active": active,
        "samples": computed,
        "successShare": best["validated"] / computed,
        "meanRating": ratings["sum"] / ratings["count"] if ratings["count"] else None,
        "approvals": row["approved"],
        "bestTaskId": row["bestTaskId"],
        "citations": most_counted(row["citationCounts"], CITATIONS),
        "metricMeans": means,
        "requiredChecks": sorted(name for name, n in passed.items() if n >= _REQUIRED * computed),
        "notes": row["notes"][-NOTES:],
        "nextActions": most_counted(row["nextActionCounts"], NEXT_ACTIONS),
        "heuristicsVersion": row["heuristicsVersion"],
        "at": at,
        "sha256": "",
    }
    snippet = best.get("ratedSnippet" if best["ratedTaskId"] else "successSnippet")
    book["punchCard"] = punch_cards.card_of(book, snippet)
    return book | {"sha256": record_sha256(SAP_KNOWLEDGE_TABLE.record, book)}


def emit_source_edge(key: str, row: AvroValue, at: int, cause: str, ctx: ProcessorContext) -> None:
    """Send the edge by which a playbook derives from its best task."""
    if row["bestTaskId"] is not None:
        edge = (f"sap:playbook:{key}", "derived_from", f"sap:task:{row['bestTaskId']}")
        emit_edge(edge, at, cause, ctx)
