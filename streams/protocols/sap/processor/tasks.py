"""A Task is taken on once, or refused with a reason.

For every record of `sap.tasks`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. its id is known: `duplicate`, or `task_id_conflict` for another content;
3. the issuer may not ask for the capability: `unauthorized`, `forbidden`;
4. the issuer asks for too much at once: `rate_limited`.

Else it is accepted.  A refused task leaves nothing behind: sent again, it is judged anew.

Source: SAP spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor import rate_limit
from streams.protocols.sap.processor.acceptance import accept
from streams.protocols.sap.processor.authorization import Authorization, authorization_of
from streams.protocols.sap.processor.commands import (
    Check,
    Command,
    Verdict,
    check_record,
    duplicate,
    first_failure,
    send_ack,
)
from streams.protocols.sap.processor.rate_limit import TASK, Bucket, Limit, Taken
from topology.sap import SAP_RATE_LIMITS, SAP_TASK_STATES_TABLE, sap_key

Json = dict[str, Any]


class Facts(NamedTuple):
    """What a task is judged by.  row: SapTaskState of its id.  bucket: of its issuer."""

    row: AvroValue | None
    authorization: Authorization | None
    limit: Limit | None
    bucket: Bucket | None
    now: int

    @property
    def taken(self) -> Taken | None:
        return None if self.limit is None else rate_limit.take(self.limit, self.bucket, self.now)


def checks(task: Json, sha256: str, facts: Facts) -> Iterator[Check]:
    """Steps 2 to 4 for a task whose shape is right."""
    yield Check(rules.TASK_ID_CONFLICT.code, _known(sha256, facts.row))
    yield Check(rules.UNAUTHORIZED.code, _unauthorized(task, facts.authorization))
    yield Check(rules.RATE_LIMITED.code, _too_fast(task, facts))


def judge(task: Command, ctx: DecisionContext) -> None:
    refusal = check_record(task, ctx)
    if refusal is None:
        facts = _facts(task, ctx)
        refusal = first_failure(checks(task.json, task.known_sha256, facts))
        if refusal is None:
            _pay(task, facts, ctx)
            accept(task, ctx)
            return
    send_ack(task, refusal, ctx)


def _facts(task: Command, ctx: DecisionContext) -> Facts:
    row = ctx.work.rows(SAP_TASK_STATES_TABLE).get(sap_key(task.known_id))
    limit = rate_limit.limit_of(ctx.work.settings, ctx.work.partitions)
    held = None if limit is None else ctx.work.rows(SAP_RATE_LIMITS).get(_bucket_key(task))
    bucket = None if held is None else Bucket(held["level"], held["at"])
    return Facts(row, authorization_of(ctx.work.settings), limit, bucket, ctx.at)


def _pay(task: Command, facts: Facts, ctx: DecisionContext) -> None:
    if facts.taken is not None:
        row = facts.taken.bucket._asdict()
        ctx.work.rows(SAP_RATE_LIMITS).put(_bucket_key(task), row)


def _bucket_key(task: Command) -> str:
    return sap_key(task.value["issuer"]["agentId"])


def _known(sha256: str, row: AvroValue | None) -> Verdict | None:
    if row is None:
        return None
    if row["taskSha256"] == sha256:
        return duplicate(row["position"])
    figures = {"position": row["position"], "knownSha256": row["taskSha256"]}
    reason = f"taskId: the task at {row['position']} has this id and other content."
    return Verdict(rules.TASK_ID_CONFLICT.code, reason, "/taskId", figures)


def _unauthorized(task: Json, authorization: Authorization | None) -> Verdict | None:
    if authorization is None:
        return None
    capability, issuer = task["target"]["capability"], task["issuer"]
    agent_id, kind = issuer["agentId"], issuer["agentKind"]
    code = authorization.refusal(agent_id, kind, capability)
    if code is None:
        return None
    figures = {"agentId": agent_id, "agentKind": kind, "capability": capability}
    if code == rules.UNAUTHORIZED.code:
        reason = f"issuer: no rule of the authorisation file knows {kind} {agent_id}."
        return Verdict(code, reason, "/issuer", figures)
    reason = f"target.capability: {kind} {agent_id} may not ask for {capability}."
    return Verdict(code, reason, "/target/capability", figures)


def _too_fast(task: Json, facts: Facts) -> Verdict | None:
    taken, limit = facts.taken, facts.limit
    if taken is None or limit is None or taken.retry_after_ms is None:
        return None
    figures = {"level": taken.level, "rate": limit.rate, "cap": limit.cap, "needed": TASK}
    reason = (
        f"issuer.agentId: {task['issuer']['agentId']} may send {Decimal(limit.rate) / TASK} tasks"
        f" a second here; come again in {taken.retry_after_ms} ms."
    )
    path, wait = "/issuer/agentId", taken.retry_after_ms
    return Verdict(rules.RATE_LIMITED.code, reason, path, figures, retry_after_ms=wait)
