"""That the runs which are told go through all that the protocol has."""

from __future__ import annotations

from collections import Counter

from tests.e2e.summit_history import Logged
from topology.summit import (
    SUMMIT_CALLS_DLQ,
    SUMMIT_EVENTS,
    SUMMIT_MANIFESTS_DLQ,
    SUMMIT_REPLIES_DLQ,
    SUMMIT_RUNS,
)

RULES = frozenset(
    {
        *("rpc.version", "rpc.id_required", "params.agent_id", "params.reason", "caller.value"),
        *("context.trace_id", "context.parent", "budget.value", "key.mismatch"),
        *("partition_mismatch", "run.conflict", "run.unknown", "run.terminal", "agent.unknown"),
        *("agent.withdrawn", "tool.unknown", "inputs.schema", "cancel.agent", "cancel.not_caller"),
        *("manifest.api_version", "manifest.kind", "manifest.version", "manifest.role"),
        *("manifest.capability", "manifest.resources", "manifest.text", "manifest.schema"),
        *("manifest.schema_dialect", "manifest.schema_ref", "manifest.schema_pattern"),
        *("manifest.schema_default", "manifest.tool", "manifest.version_conflict"),
        *("manifest.not_registered", "manifest.accepted", "manifest.withdrawn"),
        *("manifest.duplicate", "call.accepted", "call.duplicate", "cancel.accepted"),
        *("cancel.duplicate", "reply.shape", "reply.conflict", "reply.agent", "reply.duplicate"),
        *("reply.progress", "reply.result", "reply.error", "reply.verification"),
        *("metrics.missing", "metrics.value", "provenance.missing", "provenance.value"),
        *("verification.value", "status.value", "error.value", "budget.none", "budget.usd"),
        *("budget.tokens", "budget.agent_stop", "budget.seconds", "run.timeout"),
        *("output.value", "output.schema", "judge.not_completed", "judge.not_critic"),
        *("judge.self", "judge.already"),
    }
)
STATES = frozenset({"completed", "failed", "cancelled", "budget_exceeded"})


def check_variety(history: Logged) -> None:
    facts = history.values(SUMMIT_EVENTS)
    rules = Counter(fact["rule"] for fact in facts)
    assert RULES - rules.keys() == set(), rules
    assert all(history.of(dead) for dead in (SUMMIT_CALLS_DLQ, SUMMIT_REPLIES_DLQ))
    assert history.of(SUMMIT_MANIFESTS_DLQ)
    ends = Counter((row["kind"], row["state"]) for row in history.rows(SUMMIT_RUNS).values())
    kinds = {(kind, state) for kind in ("invoke", "tool") for state in STATES}
    assert kinds <= ends.keys(), ends
    timers = [fact for fact in facts if fact["subject"] == "timer"]
    by_tick = Counter(fact["eventId"] == f"{fact['cause']}/timeout" for fact in timers)
    assert by_tick[True], by_tick
