"""The fold of SAP tasks: `sap.task-states` from acks, verdicts of the cache and outcomes.

An outcome is published with the decision on the result, signal or cache verdict that caused it, so
its times are those of the decision.  An outcome of a deadline's timer has its time to the second
only, and no fact records when a task began.  So times are not folded.

Source: SAP guide, 5.1 to 5.4.
"""

from __future__ import annotations

from typing import Any

import orjson

from schemas import from_json, sap, sha256_hex
from streams.protocols.sap.task_row import first_row, from_outcome
from streams.replay.fold.fold import CommandGone, Commands, Fact, Fold, Row
from topology.declarations import Topic
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASK_STATES_TABLE, SAP_VERDICTS, sap_key

_TASK = "headrace.sap.SapTask"
_UNANSWERED = frozenset({"miss", "stale", "misaligned", "wait_expired"})
_ENDED = frozenset({"store_duplicate", "released", "flight_lapsed"})
_OF_CACHE = frozenset({"cacheState", "dispatched", "flightLeader"})


def row_key(topic: Topic, fact: Fact) -> str | None:
    if topic is SAP_ACKS and (fact["subject"] != "TASK" or fact["verdict"] != "accepted"):
        return None
    return sap_key(fact["taskId"].lower())


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if topic is SAP_ACKS:
        return _apply_ack(fact, commands)
    if row is None:
        return None
    return _apply_cache_verdict(row, fact) if topic is SAP_VERDICTS else _apply_outcome(row, fact)


def _apply_ack(ack: Fact, commands: Commands) -> Row:
    command = commands(ack["position"])
    if command is None:
        raise CommandGone(ack["position"])
    envelope: Any = from_json(_TASK, sap.judge("task", dict(command)).json)
    bypassed = ack["accepted"]["mode"] == "bypass"
    return {
        **first_row(
            envelope,
            ack["envelopeSha256"],
            ack["position"],
            ack["accepted"],
            ack["constitution"],
            ack["at"],
        ),
        "cacheState": "none" if bypassed else "lookup",
        "dispatched": bypassed,
    }


def _apply_cache_verdict(row: Row, verdict: Fact) -> Row:
    """Return the row after a verdict of the cache."""
    name = verdict["verdict"]
    if name == "stored":
        return {**row, "storedVersion": verdict["version"]}
    if name == "cache_version_exists":
        return {**row, "storeRefused": True}
    if name in _ENDED:
        return {**row, "flightLeader": False}
    deadline_at = row["accepted"]["deadlineAt"]
    overdue = deadline_at is not None and verdict["at"] > deadline_at
    if overdue or row["state"] in MACHINE.terminal:
        return row
    if name == "waiting":
        return {**row, "cacheState": "waiting"}
    if name not in _UNANSWERED:  # a hit; the outcome records whether it is used
        return {**row, "cacheState": "hit" if row["state"] == "QUEUED" else "missed"}
    dispatched = row["dispatched"] or row["accepted"]["mode"] == "prefer"
    more = {"flightLeader": verdict["leader"], "dispatched": dispatched}
    return {**row, "cacheState": "missed", **more}


def _apply_outcome(row: Row, outcome: Fact) -> Row:
    meta = orjson.loads(outcome["meta_json"])["headrace"]
    after = {
        **row,
        **from_outcome(outcome),
        "state": outcome["status"],
        "outcomeSeq": meta["seq"],
        "lastRule": meta["rule"],
    }
    if meta["rule"] == "cache_hit":
        cache = outcome["constitutionalEvidence"]["cache"]
        after |= {"cacheState": "hit", "hitVersion": cache["version"]}
    elif meta["cause"] == row["position"]:  # it ended in the decision that accepted it
        after |= {"cacheState": "none", "dispatched": False}
    if meta["agentStatus"] is not None:
        metrics, producer = outcome["metrics_json"], outcome["producer"]
        after["lastMetricsSha256"] = None if metrics is None else sha256_hex(metrics.encode())
        if row["producer"] is None and producer["agentKind"] == "agent":
            after["producer"] = producer
    return after


def _undetermined(row: Row) -> frozenset[str]:
    """Return the members that depend on the cache, for a task that ended during its lookup.

    The cache's verdict is on the log before the task reads it.  A task that ended before that, by a
    signal or its deadline, ignores it.  The order of facts on the log does not show this; its row
    does.
    """
    is_unread = row["state"] in MACHINE.terminal and row["cacheState"] in ("lookup", "waiting")
    return _OF_CACHE if is_unread else frozenset()


FOLD = Fold(
    SAP_TASK_STATES_TABLE,
    (SAP_ACKS, SAP_VERDICTS, SAP_OUTCOMES),
    row_key,
    step,
    frozenset({"startedAt", "updatedAt", "closedAt"}),
    _undetermined,
)
