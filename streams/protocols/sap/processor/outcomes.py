"""The outcomes that the service publishes for a task, and the effects of an outcome.

An outcome caused by an agent's Result is that Result with the decision about it; an outcome of the
service itself names the service as its producer.  A refused output is withheld: the command log
has it, and the outcome has its hash.

Its edges and the task's transition are sent with it.  When it closes the task, the timer is
deleted, the answer goes to the cache or the flight is released, and learning gets a signal.  A
deadline that has passed ends its task at the first opportunity: its timer, or the next record.

Source: SAP guide, 3.6, 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import canonical_json, from_json, sha256_hex
from schemas.nesting import too_deep
from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.processing.decision import began_header
from streams.processing.graph import LineageEdge
from streams.protocols.sap.processor import alignment, learning, lookups
from streams.protocols.sap.processor.aggregate import DEADLINE, TaskAggregate
from streams.protocols.sap.processor.alignment import NON_CONSTITUTIONAL, AlignmentResult
from streams.protocols.sap.processor.commands import Command, reply_headers
from streams.protocols.sap.task_row import from_outcome
from topology.machine import step
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_OUTCOMES

Json = dict[str, Any]

RESULT = "headrace.sap.SapResult"
AGENT_STATUS = rules.AGENT_STATUS.code
SERVICE: Mapping[str, str] = {"agentId": "headrace", "agentKind": "system"}
_WITHHELD = ("output", "artifacts")
_MAX_MESSAGE = 4000
_REPORTED_LEVEL = 5
"""The nesting level of members of `meta.headrace.reportedCache`; the outcome is level 1."""


class Hit(NamedTuple):
    """The version of a cached answer."""

    version: int
    age_s: int


class OutcomeDraft(NamedTuple):
    """The content of an outcome to publish.  error, output, citations, record, hit: by the service.

    record: members of the cached record.  brief: without the steps, even if the task asks for a
    trace.
    """

    status: str
    rule: str
    alignment: AlignmentResult
    error: Json | None = None
    output: Any = None
    citations: Sequence[str] | None = None
    record: Json | None = None
    hit: Hit | None = None
    brief: bool = False


def publish(task: TaskAggregate, draft: OutcomeDraft, result: Command | None = None) -> None:
    """Write the next outcome of a task.  result: the agent's Result that caused it, if any."""
    row, ctx = task.row, task.ctx
    row["outcomeSeq"] += 1
    if result is None:
        outcome = _of_service(draft, task)
    else:
        outcome = _of_result(result.json, result.known_sha256, draft, task)
    outcome_id = f"{task.task_id}/{row['outcomeSeq']}"
    value = from_json(RESULT, outcome)
    headers = reply_headers(row["replyTo"])
    if draft.status in MACHINE.terminal:
        headers = [*headers, began_header(row["acceptedAt"])]
    ctx.send(SAP_OUTCOMES, task.task_id, value, outcome_id, headers)
    ctx.emit_edge(*_edges(outcome_id, draft.hit, task))
    _move(task, draft, value)
    if task.closed:
        _close(task, outcome, value)


def _edges(outcome_id: str, hit: Hit | None, task: TaskAggregate) -> Iterator[LineageEdge]:
    node = f"sap:outcome:{outcome_id}"
    yield LineageEdge(node, "answers", f"sap:task:{task.task_id}")
    if hit is not None:
        yield LineageEdge(
            node, "derived_from", f"sap:cache:{task.accepted['cacheKey']}/{hit.version}"
        )


def _move(task: TaskAggregate, draft: OutcomeDraft, outcome: AvroValue) -> None:
    row, before = task.row, task.state
    event = draft.status if draft.rule == AGENT_STATUS else draft.rule
    if step(MACHINE, before, event) != draft.status:
        raise ValueError(f"a task that is {before} does not become {draft.status} by {event}")
    row["state"] = draft.status
    row["lastRule"] = draft.rule
    row.update(from_outcome(outcome))
    if draft.status == "RUNNING" and row["startedAt"] is None:
        row["startedAt"] = task.ctx.at
    if before != draft.status:
        task.emit_transition(before)


def _close(task: TaskAggregate, outcome: Json, value: AvroValue) -> None:
    """Do what follows the end of a task.  value: the outcome as Avro has it."""
    row, ctx = task.row, task.ctx
    row["closedAt"] = ctx.at
    deadline_at = task.accepted["deadlineAt"]
    if deadline_at is not None and deadline_at >= row["acceptedAt"]:
        ctx.work.delete_timer(deadline_at + 1, DEADLINE, task.task_id)
    if lookups.is_stored(outcome, row):
        lookups.store(task, outcome, value)
    elif row["flightLeader"] or row["cacheState"] == "waiting":
        lookups.release(task, f"the task is {task.state}")
    learning.of_outcome(task, outcome, value)


def arm_deadline(task: TaskAggregate) -> None:
    """Set the timer, which fires one millisecond after the last one that is in time."""
    task.ctx.set_timer(task.accepted["deadlineAt"] + 1, DEADLINE, task.task_id)


def expire(task: TaskAggregate) -> None:
    """End an open task with a TIMEOUT."""
    deadline, state = task.row["deadline"], task.state
    error = {
        "code": "TIMEOUT",
        "message": f"The deadline {deadline} passed while the task was {state}.",
        "details": {"deadline": deadline, "state": state},
    }
    publish(task, OutcomeDraft("FAILED", "deadline_passed", alignment.unevaluated(task), error))


def expire_overdue(task: TaskAggregate) -> None:
    """End a task whose deadline has passed, before a record that came too late is decided."""
    if task.overdue:
        expire(task)
        task.save()


def refusal(evaluation: AlignmentResult, what: str = "The answer") -> Json:
    """Return the error of what the constitution refuses."""
    failed = [check["principle"] for check in evaluation.checks if check["status"] == "FAIL"]
    named = failed or list(dict.fromkeys(one["principle"] for one in evaluation.violations))
    message = f"{what} breaks the constitution"
    message = f"{message}: {', '.join(named)}."[:_MAX_MESSAGE] if named else f"{message}."
    return {"code": NON_CONSTITUTIONAL, "message": message, "details": {"checks": failed}}


def _of_service(draft: OutcomeDraft, task: TaskAggregate) -> Json:
    """Return an outcome of the service alone."""
    evidence = _evidence({}, draft, task)
    if draft.citations is not None:
        evidence["citations"] = list(draft.citations)
    outcome: Json = {
        **{name: task.json[name] for name in ("protocolVersion", "taskId", "correlationId")},
        "reportedAt": task.ctx.time(),
        "producer": dict(SERVICE),
        "status": draft.status,
        "constitutionalEvidence": evidence,
    }
    if draft.output is not None:
        outcome["output"] = draft.output
    if draft.error is not None:
        outcome["error"] = draft.error
    meta = _meta(draft, task)
    if draft.record is not None:
        meta["cacheRecord"] = draft.record
    outcome["meta"] = {"headrace": meta}
    return _with_next_action(outcome, draft, task)


def _of_result(result: Json, sha256: str, draft: OutcomeDraft, task: TaskAggregate) -> Json:
    """Return an agent's Result as the service publishes it.  result: its envelope."""
    outcome, reported = dict(result), result["constitutionalEvidence"]
    meta = _meta(draft, task) | {
        "agentStatus": result["status"],
        "agentAlignment": reported["alignment"],
        "resultSha256": sha256,
    }
    if draft.alignment.service == NON_CONSTITUTIONAL:
        if result.get("output") is not None:
            meta["outputSha256"] = sha256_hex(canonical_json(result["output"]))
        for name in _WITHHELD:
            outcome.pop(name, None)
    if reported.get("cache") is not None:
        meta["reportedCache"] = _reported(reported["cache"])
    outcome["status"] = draft.status
    outcome["constitutionalEvidence"] = _evidence(reported, draft, task)
    outcome["meta"] = {**(result.get("meta") or {}), "headrace": meta}
    if draft.error is not None:
        outcome["error"] = draft.error
    return _with_next_action(outcome, draft, task)


def _meta(draft: OutcomeDraft, task: TaskAggregate) -> Json:
    """Return what the service adds to every outcome: `meta.headrace`."""
    meta: Json = {
        "seq": task.row["outcomeSeq"],
        "rule": draft.rule,
        "cause": task.ctx.cause,
        "agentStatus": None,
        "agentAlignment": None,
        "serviceAlignment": draft.alignment.service,
        "resultSha256": None,
        "heuristicsVersion": task.accepted["policy"]["heuristicsVersion"],
        "constitution": task.ctx.constitution.label,
    }
    trace, steps = task.row["trace"], draft.alignment.steps
    omitted = dict(draft.alignment.omitted)
    if trace and draft.brief:
        omitted["steps"] = len(steps)
    elif trace:
        meta["steps"] = list(steps)
    if omitted:
        meta["omitted"] = omitted
    return meta


def _reported(cache: Json) -> Json:
    """Return an agent's own `cache` without members that would nest too deep in the outcome."""
    return {n: value for n, value in cache.items() if not too_deep(value, _REPORTED_LEVEL)}


def _evidence(reported: Mapping[str, Any], draft: OutcomeDraft, task: TaskAggregate) -> Json:
    """Return the evidence of an outcome.  reported: the agent's constitutionalEvidence."""
    evidence = {
        **reported,
        "alignment": draft.alignment.combined,
        "policyChecks": list(draft.alignment.checks),
        "violations": list(draft.alignment.violations),
        "cache": _cache(task.accepted, draft.hit),
    }
    if draft.alignment.readings is not None:
        evidence["pressureReadings"] = draft.alignment.readings
    return evidence


def _cache(accepted: Mapping[str, Any], hit: Hit | None) -> Json:
    """Return the evidence of whether the answer came from the cache."""
    if hit is not None:
        used = {"ageSec": hit.age_s, "version": hit.version}
        return {"hit": True, "cacheKey": accepted["cacheKey"], **used}
    if accepted["mode"] == "bypass":
        return {"hit": False}
    return {"hit": False, "cacheKey": accepted["cacheKey"]}


def _with_next_action(outcome: Json, draft: OutcomeDraft, task: TaskAggregate) -> Json:
    """Return the outcome; an escalation without a next action gets one."""
    if draft.status != "ESCALATED" or outcome.get("nextActions"):
        return outcome
    task_id = task.json["taskId"]
    open_checks = [
        check["principle"]
        for check in draft.alignment.checks
        if check["status"] in ("FAIL", "UNCHECKED")
    ]
    action = {
        "target": {"capability": task.ctx.constitution.escalation},
        "parentTaskId": task_id,
        "correlationId": task.json["correlationId"],
        "payload": {"taskId": task_id, "rule": draft.rule, "checks": open_checks},
    }
    return {**outcome, "nextActions": [action]}
