"""An accepted Task: what is fixed for all that follows, and its first steps.

The acknowledgement, the row, its first transition; then the deadline, the constitution's look at
the payload, and last the cache or an agent.  Each of these may end the task at once.

Source: SAP spec, 5.2 steps 5 to 8, Clarification 10.
"""

from __future__ import annotations

from typing import Any

from schemas import from_json, sap
from schemas.sap import rules
from schemas.sap.cache_key import cache_key
from streams.engine.processor import AvroValue
from streams.protocols.sap.processor import (
    acks,
    deadlines,
    dispatch,
    judging,
    lineage,
    lookups,
    outcomes,
    policy,
    publishing,
    transitions,
)
from streams.protocols.sap.processor.case import TASK, Case
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.outcomes import REFUSED, VALID, Answer
from streams.protocols.sap.processor.policy import Policy
from streams.protocols.sap.processor.scene import Scene
from topology.sap import SAP_HEURISTICS_TABLE, SAP_TASK_ENVELOPES, sap_key

_PRECHECKS = {
    REFUSED: ("FAILED", "precheck_refused"),
    "ESCALATE": ("ESCALATED", "precheck_escalated"),
}


def accept(task: Command, scene: Scene) -> None:
    deadline_at, past = _deadline(task, scene)
    enforced = not past or scene.setting("PAST_DEADLINE") == "timeout"
    bound = _policy(task, scene)
    accepted = _accepted(task, bound, deadline_at if enforced else None, scene)
    warnings = sap.task_warnings(task.json)
    if not enforced:
        warnings = [rules.DEADLINE_ALREADY_PAST.code, *warnings]
    envelope = from_json(TASK, task.json)
    case = Case(_row(task, envelope, accepted, scene), scene, envelope)
    acks.send(task, acks.ACCEPTED, scene, warnings=warnings, accepted=accepted)
    transitions.report(case, transitions.NONE)
    row = case.row
    scene.draw(*lineage.accepted(row["taskId"], row["correlationId"], row["parentTaskId"]))
    scene.work.rows(SAP_TASK_ENVELOPES).put(sap_key(case.task_id), envelope)
    _begin(case)
    case.save()


def _begin(case: Case) -> None:
    """The first steps, as far as none of them ends the task."""
    if case.overdue:
        deadlines.expire(case)
        return
    if case.accepted["deadlineAt"] is not None:
        deadlines.arm(case)
    finding = judging.of_task(case)
    if finding.service != VALID:
        status, rule = _PRECHECKS[finding.service]
        error = outcomes.refusal(finding, "The task") if status == "FAILED" else None
        publishing.publish(case, Answer(status, rule, finding, error))
    elif case.accepted["mode"] == "bypass":
        dispatch.dispatch(case)
    else:
        case.row["cacheState"] = "lookup"
        lookups.read(case)


def _deadline(task: Command, scene: Scene) -> tuple[int | None, bool]:
    """The deadline in ms, and whether it is past already."""
    text = (task.value["telemetry"] or {}).get("deadline")
    seconds = None if text is None else sap.parse_seconds(text)
    if seconds is None:
        return None, False
    deadline_at = 1000 * seconds
    return deadline_at, deadline_at < scene.now


def _policy(task: Command, scene: Scene) -> Policy:
    if scene.setting("LEARNING") == "observe":
        return policy.no_policy()
    rows = scene.work.copy(SAP_HEURISTICS_TABLE)
    return policy.policy_of(task.value["target"]["capability"], scene.constitution.label, rows)


def _accepted(task: Command, bound: Policy, deadline_at: int | None, scene: Scene) -> AvroValue:
    """What is fixed for all that follows (SapAccepted)."""
    mode, max_age, must_align = sap.effective_cache(task.json)
    volatile = {*scene.constitution.volatile_keys, *bound.volatile}
    key = cache_key(task.json, volatile, bound.bound["extractorVersion"])
    return {
        "mode": mode,
        "maxAgeSec": max_age,
        "mustAlign": must_align,
        "cacheKey": key.key,
        "fingerprint": key.fingerprint,
        "removedKeys": list(key.removed),
        "policy": bound.bound,
        "deadlineAt": deadline_at,
    }


def _row(task: Command, envelope: AvroValue, accepted: AvroValue, scene: Scene) -> AvroValue:
    telemetry: dict[str, Any] = envelope["telemetry"] or {}
    parent = envelope["parentTaskId"]
    return {
        "taskId": task.known_id,
        "correlationId": envelope["correlationId"].lower(),
        "parentTaskId": None if parent is None else parent.lower(),
        "state": "QUEUED",
        "taskSha256": task.known_sha256,
        "position": task.cause,
        "issuer": envelope["issuer"],
        "target": envelope["target"],
        "territory": envelope["constitutionalContext"]["territory"],
        "deadline": telemetry.get("deadline"),
        "trace": telemetry.get("trace") or False,
        "replyTo": task.reply_to,
        "budget": telemetry.get("budget"),
        "outputContract": envelope["outputContract"],
        "accepted": accepted,
        "constitution": scene.constitution.label,
        "acceptedAt": scene.now,
        "startedAt": None,
        "updatedAt": scene.now,
        "closedAt": None,
        "cacheState": "none",
        "flightLeader": False,
        "dispatched": False,
        "producer": None,
        "outcomeSeq": 0,
        "lastMetricsSha256": None,
        "lastAlignment": VALID,
        "lastRule": None,
        "errorCode": None,
        "hitVersion": None,
        "storedVersion": None,
        "storeRefused": False,
    }
