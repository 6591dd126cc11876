"""Publishing an outcome, and what goes with it.

The outcome and its edges, the task's move; when the task is closed by it, its timer goes, the
answer is given to the cache or the flight is given up, and learning is told.

Source: SAP spec, 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import from_json
from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.protocols.sap.processor import learning, lineage, lookups, outcomes, transitions
from streams.protocols.sap.processor.acks import reply_headers
from streams.protocols.sap.processor.case import DEADLINE, Case
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.outcomes import About, Answer
from topology.machine import step
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_OUTCOMES

Json = dict[str, Any]

RESULT = "headrace.sap.SapResult"
AGENT_STATUS = rules.AGENT_STATUS.code


class Hit(NamedTuple):
    """The version of a cached answer."""

    version: int
    age_s: int


def publish(
    case: Case, answer: Answer, *, result: Command | None = None, hit: Hit | None = None
) -> None:
    """Write the next outcome of a task.  result: what an agent reported, if it comes of that."""
    row, scene = case.row, case.scene
    row["outcomeSeq"] += 1
    about = _about(case, hit)
    if result is None:
        outcome = outcomes.own(answer, about)
    else:
        outcome = outcomes.of_result(result.json, result.known_sha256, answer, about)
    outcome_id = f"{case.task_id}/{row['outcomeSeq']}"
    value = from_json(RESULT, outcome)
    scene.send(SAP_OUTCOMES, case.task_id, value, outcome_id, reply_headers(row["replyTo"]))
    cached = None if hit is None else (case.accepted["cacheKey"], hit.version)
    scene.draw(*lineage.outcome(case.task_id, row["outcomeSeq"], cached))
    _move(case, answer, outcome)
    if case.closed:
        _close(case, answer, outcome, value)


def _about(case: Case, hit: Hit | None) -> About:
    row, accepted = case.row, case.accepted
    return About(
        task=case.task,
        seq=row["outcomeSeq"],
        cause=case.scene.cause,
        now=case.scene.time(),
        cache=_cache(accepted, hit),
        heuristics_version=accepted["policy"]["heuristicsVersion"],
        constitution=case.scene.constitution.label,
        escalation=case.scene.constitution.escalation,
        trace=row["trace"],
    )


def _cache(accepted: Mapping[str, Any], hit: Hit | None) -> Json:
    """The evidence of whether the answer came from the cache."""
    if hit is not None:
        used = {"ageSec": hit.age_s, "version": hit.version}
        return {"hit": True, "cacheKey": accepted["cacheKey"], **used}
    if accepted["mode"] == "bypass":
        return {"hit": False}
    return {"hit": False, "cacheKey": accepted["cacheKey"]}


def _move(case: Case, answer: Answer, outcome: Json) -> None:
    row, before = case.row, case.state
    event = answer.status if answer.rule == AGENT_STATUS else answer.rule
    if step(MACHINE, before, event) != answer.status:
        raise ValueError(f"a task that is {before} does not become {answer.status} by {event}")
    row["state"] = answer.status
    row["lastAlignment"] = answer.finding.alignment
    row["lastRule"] = answer.rule
    row["errorCode"] = (outcome.get("error") or {}).get("code")
    if answer.status == "RUNNING" and row["startedAt"] is None:
        row["startedAt"] = case.scene.now
    if before != answer.status:
        transitions.report(case, before)


def _close(case: Case, answer: Answer, outcome: Json, value: AvroValue) -> None:
    row, scene = case.row, case.scene
    row["closedAt"] = scene.now
    deadline_at = case.accepted["deadlineAt"]
    if deadline_at is not None and deadline_at >= row["acceptedAt"]:
        scene.work.delete_timer(deadline_at + 1, DEADLINE, case.task_id)
    if lookups.is_stored(answer, outcome, row):
        lookups.store(case, outcome, value)
    elif row["flightLeader"] or row["cacheState"] == "waiting":
        lookups.release(case, f"the task is {answer.status}")
    learning.of_outcome(case, answer, outcome, value)
