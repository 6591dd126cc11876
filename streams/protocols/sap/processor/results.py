"""The decision on a Result: it becomes an outcome, or it is refused and changes nothing.

For every record of `sap.results`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. `unknown_task`;
3. `correlation_mismatch`;
4. it was accepted before: `duplicate`;
5. the task is closed, or its deadline has passed: `task_closed`;
6. the task was not sent to any agent: `not_dispatched`;
7. the task is bound to another agent: `producer_mismatch`;
8. the state machine has no such transition: `illegal_transition`.

Source: SAP guide, 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas import canonical_json, sap, sha256_hex
from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.protocols.sap.constitution import status_after
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor import alignment, outcomes
from streams.protocols.sap.processor.aggregate import TaskAggregate, find_task
from streams.protocols.sap.processor.commands import (
    ACCEPTED,
    Check,
    Command,
    Verdict,
    check_correlation,
    check_known_task,
    check_open,
    check_record,
    check_repeated,
    first_failure,
    send_ack,
)
from streams.protocols.sap.processor.outcomes import OutcomeDraft
from topology.machine import step
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_RESULT_HASHES, sap_key

Json = dict[str, Any]
_NO_METRICS = sha256_hex(b"{}")


class Facts(NamedTuple):
    """The stored facts that decide on a result.

    row: SapTaskState of its task.  known: the same result, accepted before.
    binding: binds a task to its first producer.
    """

    row: AvroValue | None
    known: AvroValue | None
    binding: bool
    now: int


def checks(result: Json, sha256: str, facts: Facts) -> Iterator[Check]:
    """Check steps 2 to 8 for a result whose shape is right."""
    row = facts.row
    yield Check(rules.UNKNOWN_TASK.code, check_known_task(result, row))
    if row is None:
        return
    yield Check(rules.CORRELATION_MISMATCH.code, check_correlation(result, row))
    yield Check(rules.DUPLICATE.code, check_repeated(facts.known))
    yield Check(rules.TASK_CLOSED.code, check_open(row, facts.now))
    yield Check(rules.NOT_DISPATCHED.code, _not_dispatched(result, row))
    yield Check(rules.PRODUCER_MISMATCH.code, _foreign(result, row) if facts.binding else None)
    yield Check(rules.ILLEGAL_TRANSITION.code, _illegal(result, row))


def decide(result: Command, ctx: DecisionContext) -> None:
    refusal = check_record(result, ctx)
    if refusal is not None:
        send_ack(result, refusal, ctx)
        return
    task = find_task(result.known_id, ctx)
    facts = Facts(
        None if task is None else task.row,
        ctx.work.rows(SAP_RESULT_HASHES).get(hash_key(result)),
        ctx.setting("PRODUCER_BINDING"),
        ctx.at,
    )
    refusal = first_failure(checks(result.json, result.known_sha256, facts))
    if task is not None and refusal is None:
        _accept(result, task)
    elif refusal is not None:
        if task is not None and refusal.rule == rules.TASK_CLOSED.code:
            outcomes.expire_overdue(task)
        send_ack(result, refusal, ctx)


def hash_key(result: Command) -> str:
    return sap_key(result.known_id, result.known_sha256)


def _not_dispatched(result: Json, row: AvroValue) -> Verdict | None:
    if row["dispatched"] or _of_system(result):
        return None
    state = row["cacheState"]
    reason = f"taskId: no agent was given the task; where it stands with the cache: {state}."
    return Verdict(rules.NOT_DISPATCHED.code, reason, "/taskId", {"cacheState": state})


def _foreign(result: Json, row: AvroValue) -> Verdict | None:
    agent_id = result["producer"]["agentId"]
    bound = row["target"]["agentId"] if row["producer"] is None else row["producer"]["agentId"]
    if _of_system(result) or bound in (None, agent_id):
        return None
    evidence = {"agentId": agent_id, "expected": bound}
    reason = f"producer.agentId: the task is {bound}'s, not {agent_id}'s."
    return Verdict(rules.PRODUCER_MISMATCH.code, reason, "/producer/agentId", evidence)


def _of_system(result: Json) -> bool:
    return bool(result["producer"]["agentKind"] == "system")


def _illegal(result: Json, row: AvroValue) -> Verdict | None:
    status, state = result["status"], row["state"]
    evidence: Json = {"state": state, "status": status}
    if step(MACHINE, state, status) is None:
        reason = f"status: a task that is {state} does not become {status} by a result."
    elif status == state and not _progress(result, row):
        evidence["progress"] = False
        reason = f"status: {status} again needs metrics other than those reported last."
    else:
        return None
    return Verdict(rules.ILLEGAL_TRANSITION.code, reason, "/status", evidence)


def _metrics_sha256(result: Json) -> str | None:
    metrics = result.get("metrics")
    return None if metrics is None else sha256_hex(canonical_json(metrics))


def _progress(result: Json, row: AvroValue) -> bool:
    digest = _metrics_sha256(result)
    return digest is not None and digest != (row["lastMetricsSha256"] or _NO_METRICS)


def _accept(result: Command, task: TaskAggregate) -> None:
    ctx, row = task.ctx, task.row
    send_ack(result, ACCEPTED, ctx, warnings=sap.result_warnings(result.json))
    known = {"sha256": result.known_sha256, "position": result.cause}
    ctx.work.rows(SAP_RESULT_HASHES).put(hash_key(result), known)
    producer = result.value["producer"]
    if row["producer"] is None and producer["agentKind"] == "agent":
        row["producer"] = producer
    row["lastMetricsSha256"] = _metrics_sha256(result.json)
    evaluation = alignment.of_result(task, result.json)
    status, rule = status_after(result.value["status"], evaluation.service)
    refused = rule == rules.ALIGNMENT_REFUSED.code
    error = outcomes.refusal(evaluation) if refused else None
    outcomes.publish(task, OutcomeDraft(status, rule, evaluation, error), result)
    task.save()
