"""An accepted Task: what is fixed for all that follows, and its first steps.

The acknowledgement, the row, its first transition; then the deadline, the constitution's look at
the payload, and last the cache or an agent.  Each of these may end the task at once.

Fixed are also the heuristics that it is bound to.  Versions of a capability are numbered from 1
without a hole, so the newest one that this worker has read is found by asking for a few keys.

Source: SAP spec, 5.1, 5.2 steps 5 to 8, 5.5 and Clarification 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schemas import from_json, sap
from schemas.sap import rules
from schemas.sap.cache_key import cache_key
from streams.engine.processor import AvroValue, Copy
from streams.processing.graph import Edge
from streams.protocols.sap.constitution.checks import ESCALATE, NON_CONSTITUTIONAL, VALID
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor import alignment, lookups, outcomes
from streams.protocols.sap.processor.aggregate import NONE, TASK, TaskAggregate
from streams.protocols.sap.processor.commands import ACCEPTED, Command, send_ack
from streams.protocols.sap.processor.outcomes import OutcomeDraft
from streams.protocols.sap.task_row import first_row
from topology.sap import SAP_HEURISTICS_TABLE, SAP_TASK_ENVELOPES, sap_key, sap_version

_PRECHECKS = {
    NON_CONSTITUTIONAL: ("FAILED", "precheck_refused"),
    ESCALATE: ("ESCALATED", "precheck_escalated"),
}


def accept(command: Command, ctx: DecisionContext) -> None:
    deadline_at, past = _deadline(command, ctx)
    enforced = not past or ctx.setting("PAST_DEADLINE") == "timeout"
    bound = _policy(command, ctx)
    accepted = _accepted(command, bound, deadline_at if enforced else None, ctx)
    warnings = sap.task_warnings(command.json)
    if not enforced:
        warnings = [rules.DEADLINE_ALREADY_PAST.code, *warnings]
    envelope = from_json(TASK, command.json)
    label = ctx.constitution.label
    row = first_row(envelope, command.known_sha256, command.cause, accepted, label, ctx.at)
    task = TaskAggregate(row, ctx, envelope)
    send_ack(command, ACCEPTED, ctx, warnings=warnings, accepted=accepted)
    task.emit_transition(NONE)
    ctx.draw(*_edges(task.row))
    ctx.work.rows(SAP_TASK_ENVELOPES).put(sap_key(task.task_id), envelope)
    _begin(task)
    task.save()


def _edges(row: AvroValue) -> Iterator[Edge]:
    node = f"sap:task:{row['taskId']}"
    yield Edge(node, "same_trace", f"trace:{row['correlationId']}")
    if row["parentTaskId"] is not None:
        yield Edge(node, "child_of", f"sap:task:{row['parentTaskId']}")


def _begin(task: TaskAggregate) -> None:
    """The first steps, as far as none of them ends the task."""
    if task.overdue:
        outcomes.expire(task)
        return
    if task.accepted["deadlineAt"] is not None:
        outcomes.arm_deadline(task)
    evaluation = alignment.of_task(task)
    if evaluation.service != VALID:
        status, rule = _PRECHECKS[evaluation.service]
        error = outcomes.refusal(evaluation, "The task") if status == "FAILED" else None
        outcomes.publish(task, OutcomeDraft(status, rule, evaluation, error))
    elif task.accepted["mode"] == "bypass":
        task.dispatch()
    else:
        task.row["cacheState"] = "lookup"
        lookups.read(task)


def _deadline(command: Command, ctx: DecisionContext) -> tuple[int | None, bool]:
    """The deadline in ms, and whether it is past already."""
    text = (command.value["telemetry"] or {}).get("deadline")
    seconds = None if text is None else sap.parse_seconds(text)
    if seconds is None:
        return None, False
    deadline_at = 1000 * seconds
    return deadline_at, deadline_at < ctx.at


def _policy(command: Command, ctx: DecisionContext) -> Policy:
    if ctx.setting("LEARNING") == "observe":
        return no_policy()
    rows = ctx.work.copy(SAP_HEURISTICS_TABLE)
    return policy_of(command.value["target"]["capability"], ctx.constitution.label, rows)


def _accepted(
    command: Command, bound: Policy, deadline_at: int | None, ctx: DecisionContext
) -> AvroValue:
    """What is fixed for all that follows (SapAccepted)."""
    mode, max_age, must_align = sap.effective_cache(command.json)
    volatile = {*ctx.constitution.volatile_keys, *bound.volatile}
    key = cache_key(command.json, volatile, bound.bound["extractorVersion"])
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


class Policy(NamedTuple):
    """bound: SapPolicy.  volatile: names of payload members that were learned not to matter."""

    bound: AvroValue
    volatile: tuple[str, ...]


def no_policy() -> Policy:
    return Policy(_bound(0, 0, {}, ()), ())


def policy_of(capability: str, constitution: str, rows: Copy) -> Policy:
    """Thresholds and checks hold only under the constitution that they were derived with."""
    row = newest(capability, rows)
    if row is None:
        return no_policy()
    applies = row["constitution"] == constitution
    thresholds = row["thresholds"] if applies else {}
    checks = row["extraChecks"] if applies else ()
    bound = _bound(row["version"], row["extractorVersion"], thresholds, checks)
    return Policy(bound, tuple(row["volatileKeys"]))


def newest(capability: str, rows: Copy) -> AvroValue | None:
    """The row of the highest version: doubling steps up, then halving ones."""
    found, version, step = None, 0, 1
    while (row := rows.get(_key(capability, version + step))) is not None:
        found, version, step = row, version + step, 2 * step
    while step := step // 2:
        if (row := rows.get(_key(capability, version + step))) is not None:
            found, version = row, version + step
    return found


def _key(capability: str, version: int) -> str:
    return sap_key(capability, sap_version(version))


def _bound(
    version: int, extractor: int, thresholds: Mapping[str, float], checks: Sequence[str]
) -> AvroValue:
    return {
        "heuristicsVersion": version,
        "extractorVersion": extractor,
        "thresholds": dict(thresholds),
        "extraChecks": list(checks),
    }
