"""Tasks of SAP: `sap.task-states`, of what was accepted, what the cache said and what came of it.

An outcome is published with the decision on the result, signal or verdict of the cache that it
comes of, so the times of those are its own; those of a deadline that a timer found stand in the
outcome to the second only, and no fact says when a task began.  So times are not folded.

Source: SAP spec, 5.1 to 5.4.
"""

from __future__ import annotations

from typing import Any

import orjson

from schemas import from_json, sap, sha256_hex
from streams.replay.fold.folding import CommandGone, Commands, Fact, Folding, Row
from topology.declarations import Topic
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASK_STATES_TABLE, SAP_VERDICTS, sap_key

_TASK = "headrace.sap.SapTask"
_VALID = "VALID"
_UNANSWERED = frozenset({"miss", "stale", "misaligned", "wait_expired"})
_ENDED = frozenset({"store_duplicate", "released", "flight_lapsed"})
_OF_CACHE = frozenset({"cacheState", "dispatched", "flightLeader"})
_LONGEST = 1024


def row_key(topic: Topic, fact: Fact) -> str | None:
    if topic is SAP_ACKS and (fact["subject"] != "TASK" or fact["verdict"] != "accepted"):
        return None
    return sap_key(fact["taskId"].lower())


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if topic is SAP_ACKS:
        return _first(fact, commands)
    if row is None:
        return None
    return _answered(row, fact) if topic is SAP_VERDICTS else _published(row, fact)


def _first(ack: Fact, commands: Commands) -> Row:
    sent = commands(ack["position"])
    if sent is None:
        raise CommandGone(ack["position"])
    task: Any = from_json(_TASK, sap.judge("task", dict(sent)).json)
    telemetry, parent = task["telemetry"] or {}, task["parentTaskId"]
    endpoint = (task["replyTo"] or {}).get("endpoint")
    bypassed = ack["accepted"]["mode"] == "bypass"
    return {
        "taskId": ack["taskId"],
        "correlationId": ack["correlationId"],
        "parentTaskId": None if parent is None else parent.lower(),
        "state": "QUEUED",
        "taskSha256": ack["envelopeSha256"],
        "position": ack["position"],
        "issuer": task["issuer"],
        "target": task["target"],
        "territory": task["constitutionalContext"]["territory"],
        "deadline": telemetry.get("deadline"),
        "trace": telemetry.get("trace") or False,
        "replyTo": None if endpoint is None or len(endpoint) > _LONGEST else endpoint,
        "budget": telemetry.get("budget"),
        "outputContract": task["outputContract"],
        "accepted": ack["accepted"],
        "constitution": ack["constitution"],
        "acceptedAt": ack["at"],
        "startedAt": None,
        "updatedAt": ack["at"],
        "closedAt": None,
        "cacheState": "none" if bypassed else "lookup",
        "flightLeader": False,
        "dispatched": bypassed,
        "producer": None,
        "outcomeSeq": 0,
        "lastMetricsSha256": None,
        "lastAlignment": _VALID,
        "lastRule": None,
        "errorCode": None,
        "hitVersion": None,
        "storedVersion": None,
        "storeRefused": False,
    }


def _answered(row: Row, verdict: Fact) -> Row:
    """A verdict of the cache."""
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
    if name not in _UNANSWERED:  # a hit; the outcome says of one that is used
        return {**row, "cacheState": "hit" if row["state"] == "QUEUED" else "missed"}
    dispatched = row["dispatched"] or row["accepted"]["mode"] == "prefer"
    more = {"flightLeader": verdict["leader"], "dispatched": dispatched}
    return {**row, "cacheState": "missed", **more}


def _published(row: Row, outcome: Fact) -> Row:
    said = orjson.loads(outcome["meta_json"])["headrace"]
    evidence, error = outcome["constitutionalEvidence"], outcome["error"]
    after = {
        **row,
        "state": outcome["status"],
        "outcomeSeq": said["seq"],
        "lastAlignment": evidence["alignment"],
        "lastRule": said["rule"],
        "errorCode": None if error is None else error["code"],
    }
    if said["rule"] == "cache_hit":
        after |= {"cacheState": "hit", "hitVersion": evidence["cache"]["version"]}
    elif said["cause"] == row["position"]:  # it ended with its first steps
        after |= {"cacheState": "none", "dispatched": False}
    if said["agentStatus"] is not None:
        metrics, producer = outcome["metrics_json"], outcome["producer"]
        after["lastMetricsSha256"] = None if metrics is None else sha256_hex(metrics.encode())
        if row["producer"] is None and producer["agentKind"] == "agent":
            after["producer"] = producer
    return after


def _undetermined(row: Row) -> frozenset[str]:
    """Return the members that tell of the cache, for a task that ended while it was asked.

    What the cache says is on the log before the task reads it.  A task that ended meanwhile, by a
    signal or its deadline, takes no notice, and no order of facts on the log says so; its row does.
    """
    is_unread = row["state"] in MACHINE.terminal and row["cacheState"] in ("lookup", "waiting")
    return _OF_CACHE if is_unread else frozenset()


FOLDING = Folding(
    SAP_TASK_STATES_TABLE,
    (SAP_ACKS, SAP_VERDICTS, SAP_OUTCOMES),
    row_key,
    step,
    frozenset({"startedAt", "updatedAt", "closedAt"}),
    _undetermined,
)
