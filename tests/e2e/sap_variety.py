"""Whether traffic met with what it is there to meet."""

from __future__ import annotations

from collections import Counter

from tests.e2e.sap_check_tasks import meta
from tests.e2e.sap_history import SapHistory
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_OUTCOMES,
    SAP_TASKS_DLQ,
    SAP_VERDICTS,
)

RULES = frozenset(
    {
        "accepted",
        "duplicate",
        "key_mismatch",
        "bad_enum",
        "task_id_conflict",
        "unknown_task",
        "correlation_mismatch",
        "task_closed",
        "producer_mismatch",
        "illegal_transition",
        "alignment_status_mismatch",
        "signal_id_conflict",
        "signal_too_early",
        "signal_repeated",
        "bad_signal",
    }
)
OUTCOMES = frozenset(
    {
        "agent_status",
        "alignment_refused",
        "alignment_escalated",
        "cache_hit",
        "cache_only_miss",
        "deadline_passed",
        "cancelled_by_signal",
    }
)
VERDICTS = frozenset({"hit", "miss", "stale", "misaligned", "waiting", "stored", "released"})


def check_variety(history: SapHistory) -> None:
    """Rules, outcomes, verdicts, versions and lessons of every kind came up."""
    rules = Counter(ack["rule"] for ack in history.values(SAP_ACKS))
    assert RULES - rules.keys() == set(), rules
    outcomes = Counter(meta(outcome)["rule"] for outcome in history.values(SAP_OUTCOMES))
    assert OUTCOMES - outcomes.keys() == set(), outcomes
    verdicts = Counter(verdict["verdict"] for verdict in history.values(SAP_VERDICTS))
    assert VERDICTS - verdicts.keys() == set(), verdicts
    modes = {a["accepted"]["mode"] for a in history.values(SAP_ACKS) if a["accepted"]}
    assert modes == {"prefer", "only", "bypass"}
    assert max(row["version"] for row in history.values(SAP_CACHE)) > 3
    assert any(row["volatileKeys"] for row in history.values(SAP_HEURISTICS))
    assert history.of(SAP_KNOWLEDGE)
    assert history.of(SAP_TASKS_DLQ)
