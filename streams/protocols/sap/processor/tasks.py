"""The decision on a Task: it is accepted once, or refused with a reason.

For every record of `sap.tasks`, in this order, the first that applies decides:

1. its shape, its key, its partition;
1a. its payload has a secret, and the policy refuses that: `payload_secret`;
2. its id is known: `duplicate`, or `task_id_conflict` for another content;
3. the issuer may not ask for the capability: `unauthorized`, `forbidden`;
4. the issuer sends too many tasks: `rate_limited`.

Else it is accepted.  A refused task writes no state: if sent again, it is decided again.

Acceptance fixes the values that all later decisions use.  Then come the acknowledgement, the row,
its first transition, and the first steps: the deadline, the constitution's check of the payload,
and last the cache or an agent.  Each of these may end the task immediately, the cache if this
worker has a copy of it.

Acceptance also binds the task to a version of the heuristics.  Versions of a capability are
numbered from 1 without a gap, so a few reads find the newest one that this worker has read.

Source: SAP guide, 5.1, 5.2 and 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from schemas import from_json, sap
from schemas.sap import rules
from schemas.sap.cache_key import cache_key
from streams.engine.processor import AvroValue, GlobalTable
from streams.masking.shapes import Shapes, shapes_of
from streams.processing.graph import LineageEdge
from streams.protocols.sap.constitution.checks import ESCALATE, NON_CONSTITUTIONAL, VALID
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.newest_heuristics import newest_heuristics
from streams.protocols.sap.payload_secrets import find_secret, secret_problem
from streams.protocols.sap.processor import alignment, copied_answers, lookups, outcomes, rate_limit
from streams.protocols.sap.processor.aggregate import NONE, TASK, TaskAggregate
from streams.protocols.sap.processor.authorization import Authorization, authorization_of
from streams.protocols.sap.processor.commands import (
    ACCEPTED,
    Check,
    Command,
    Verdict,
    check_record,
    duplicate,
    first_failure,
    send_ack,
)
from streams.protocols.sap.processor.outcomes import OutcomeDraft
from streams.protocols.sap.processor.rate_limit import Admission, Bucket, Limit
from streams.protocols.sap.task_row import first_row
from topology.sap import (
    SAP_HEURISTICS_TABLE,
    SAP_RATE_LIMITS,
    SAP_TASK_ENVELOPES,
    SAP_TASK_STATES_TABLE,
    sap_key,
)

Json = dict[str, Any]

_PRECHECKS = {
    NON_CONSTITUTIONAL: ("FAILED", "precheck_refused"),
    ESCALATE: ("ESCALATED", "precheck_escalated"),
}


class Facts(NamedTuple):
    """The stored facts that decide on a task.

    row: SapTaskState of its id.  bucket: of its issuer.  refused_shapes: of secrets in its payload.
    """

    row: AvroValue | None
    authorization: Authorization | None
    limit: Limit | None
    bucket: Bucket | None
    now: int
    refused_shapes: Shapes | None = None

    @property
    def admission(self) -> Admission | None:
        return None if self.limit is None else rate_limit.take(self.limit, self.bucket, self.now)


def checks(task: Json, sha256: str, facts: Facts) -> Iterator[Check]:
    """Check steps 1a to 4 for a task whose shape is valid."""
    yield Check(rules.PAYLOAD_SECRET.code, _secret(task, facts))
    yield Check(rules.TASK_ID_CONFLICT.code, _known(sha256, facts.row))
    yield Check(rules.UNAUTHORIZED.code, _unauthorized(task, facts.authorization))
    yield Check(rules.RATE_LIMITED.code, _too_fast(task, facts))


def decide(task: Command, ctx: DecisionContext, *, from_copy: bool = True) -> None:
    """Decide a Task.  from_copy: whether a copy of the cache may answer it."""
    refusal = check_record(task, ctx)
    if refusal is None:
        facts = _facts(task, ctx)
        refusal = first_failure(checks(task.json, task.known_sha256, facts))
        if refusal is None:
            _pay(task, facts, ctx)
            _accept(task, ctx, from_copy and ctx.setting("CACHE_COPY"))
            return
    send_ack(task, refusal, ctx)


def _facts(task: Command, ctx: DecisionContext) -> Facts:
    row = ctx.work.rows(SAP_TASK_STATES_TABLE).get(sap_key(task.known_id))
    limit = rate_limit.limit_of(ctx.work.settings, ctx.work.partitions)
    stored = None if limit is None else ctx.work.rows(SAP_RATE_LIMITS).get(_bucket_key(task))
    bucket = None if stored is None else Bucket(stored["level"], stored["at"])
    authorization = authorization_of(ctx.work.settings)
    refuses = ctx.setting("PAYLOAD_SECRETS") == "refuse"
    shapes = shapes_of(ctx.work.settings) if refuses else None
    return Facts(row, authorization, limit, bucket, ctx.at, shapes)


def _pay(task: Command, facts: Facts, ctx: DecisionContext) -> None:
    if facts.admission is not None:
        row = facts.admission.bucket._asdict()
        ctx.work.rows(SAP_RATE_LIMITS).put(_bucket_key(task), row)


def _bucket_key(task: Command) -> str:
    return sap_key(task.value["issuer"]["agentId"])


def _secret(task: Json, facts: Facts) -> Verdict | None:
    problem = None if facts.refused_shapes is None else secret_problem(task, facts.refused_shapes)
    if problem is None:
        return None
    return Verdict(problem.rule, f"{problem.path}: {problem.message}", problem.path)


def _known(sha256: str, row: AvroValue | None) -> Verdict | None:
    if row is None:
        return None
    if row["taskSha256"] == sha256:
        return duplicate(row["position"])
    evidence = {"position": row["position"], "knownSha256": row["taskSha256"]}
    reason = f"taskId: the task at {row['position']} has this id and other content."
    return Verdict(rules.TASK_ID_CONFLICT.code, reason, "/taskId", evidence)


def _unauthorized(task: Json, authorization: Authorization | None) -> Verdict | None:
    if authorization is None:
        return None
    capability, issuer = task["target"]["capability"], task["issuer"]
    agent_id, kind = issuer["agentId"], issuer["agentKind"]
    code = authorization.refusal(agent_id, kind, capability)
    if code is None:
        return None
    evidence = {"agentId": agent_id, "agentKind": kind, "capability": capability}
    if code == rules.UNAUTHORIZED.code:
        reason = f"issuer: no rule of the authorisation file knows {kind} {agent_id}."
        return Verdict(code, reason, "/issuer", evidence)
    reason = f"target.capability: {kind} {agent_id} may not ask for {capability}."
    return Verdict(code, reason, "/target/capability", evidence)


def _too_fast(task: Json, facts: Facts) -> Verdict | None:
    admission, limit = facts.admission, facts.limit
    if admission is None or limit is None or admission.retry_after_ms is None:
        return None
    unit = rate_limit.TASK
    evidence = {"level": admission.level, "rate": limit.rate, "cap": limit.cap, "needed": unit}
    reason = (
        f"issuer.agentId: {task['issuer']['agentId']} may send {Decimal(limit.rate) / unit} tasks"
        f" a second here; come again in {admission.retry_after_ms} ms."
    )
    path, wait = "/issuer/agentId", admission.retry_after_ms
    return Verdict(rules.RATE_LIMITED.code, reason, path, evidence, retry_after_ms=wait)


def _accept(command: Command, ctx: DecisionContext, from_copy: bool) -> None:
    deadline_at, past = _deadline(command, ctx)
    enforced = not past or ctx.setting("PAST_DEADLINE") == "timeout"
    bound = _policy(command, ctx)
    accepted = _accepted(command, bound, deadline_at if enforced else None, ctx)
    warnings = sap.task_warnings(command.json)
    warns, shapes = ctx.setting("PAYLOAD_SECRETS") == "warn", shapes_of(ctx.work.settings)
    if warns and find_secret(command.json, shapes) is not None:
        warnings.append(rules.PAYLOAD_SECRET_SUSPECTED.code)
    if not enforced:
        warnings = [rules.DEADLINE_ALREADY_PAST.code, *warnings]
    envelope = from_json(TASK, command.json)
    label = ctx.constitution.label
    row = first_row(envelope, command.known_sha256, command.cause, accepted, label, ctx.at)
    task = TaskAggregate(row, ctx, envelope)
    send_ack(command, ACCEPTED, ctx, warnings=warnings, accepted=accepted)
    task.emit_transition(NONE)
    ctx.emit_edge(*_edges(task.row))
    ctx.work.rows(SAP_TASK_ENVELOPES).put(sap_key(task.task_id), envelope)
    _begin(task, from_copy)
    task.save()


def _edges(row: AvroValue) -> Iterator[LineageEdge]:
    node = f"sap:task:{row['taskId']}"
    yield LineageEdge(node, "same_trace", f"trace:{row['correlationId']}")
    if row["parentTaskId"] is not None:
        yield LineageEdge(node, "child_of", f"sap:task:{row['parentTaskId']}")


def _begin(task: TaskAggregate, from_copy: bool) -> None:
    """Take the first steps, as far as none of them ends the task."""
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
        if not (from_copy and copied_answers.serve(task)):
            lookups.read(task)


def _deadline(command: Command, ctx: DecisionContext) -> tuple[int | None, bool]:
    """Return the deadline in ms, and whether it is past already."""
    text = (command.value["telemetry"] or {}).get("deadline")
    seconds = None if text is None else sap.parse_seconds(text)
    if seconds is None:
        return None, False
    deadline_at = 1000 * seconds
    return deadline_at, deadline_at < ctx.at


def _policy(command: Command, ctx: DecisionContext) -> Policy:
    if ctx.setting("LEARNING") == "observe":
        return no_policy()
    rows = ctx.work.global_table(SAP_HEURISTICS_TABLE)
    return policy_of(command.value["target"]["capability"], ctx.constitution.label, rows)


def _accepted(
    command: Command, bound: Policy, deadline_at: int | None, ctx: DecisionContext
) -> AvroValue:
    """Return what is fixed for all that follows (SapAccepted)."""
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
    """The policy of a new task.  bound: SapPolicy.  volatile: the learned volatile members."""

    bound: AvroValue
    volatile: tuple[str, ...]


def no_policy() -> Policy:
    return Policy(_bound(0, 0, {}, ()), ())


def policy_of(capability: str, constitution: str, rows: GlobalTable) -> Policy:
    """Return the policy; thresholds and checks apply only under the version's constitution."""
    row = newest_heuristics(capability, rows)
    if row is None:
        return no_policy()
    applies = row["constitution"] == constitution
    thresholds = row["thresholds"] if applies else {}
    checks = row["extraChecks"] if applies else ()
    bound = _bound(row["version"], row["extractorVersion"], thresholds, checks)
    return Policy(bound, tuple(row["volatileKeys"]))


def _bound(
    version: int, extractor: int, thresholds: Mapping[str, float], checks: Sequence[str]
) -> AvroValue:
    return {
        "heuristicsVersion": version,
        "extractorVersion": extractor,
        "thresholds": dict(thresholds),
        "extraChecks": list(checks),
    }
