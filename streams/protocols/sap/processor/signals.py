"""The decision on a Signal, an operator's rating, note, approval or cancel of a task.

For every record of `sap.signals`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. `unknown_task`, `correlation_mismatch`;
3. its id is known: `duplicate`, or `signal_id_conflict` for another content;
4. for a rating or an approval: `signal_too_early`, `self_rating`, `signal_repeated`;
   for a cancel: `not_issuer`, `task_closed`.

Source: SAP guide, 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor import alignment, learning, outcomes
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
from topology.sap import SAP_SIGNAL_IDS, SAP_SIGNAL_OPERATORS, sap_key

Json = dict[str, Any]

_ONCE = {"rating": "a rating", "approval": "an approval"}
"""Kinds that an operator sends once, for a closed task only, and their names for people."""
_AFTER_EXPIRY = frozenset(
    rule.code
    for rule in (rules.SELF_RATING, rules.SIGNAL_REPEATED, rules.NOT_ISSUER, rules.TASK_CLOSED)
)
"""Refusals of a signal after the deadline; the task is then ended first."""


class Facts(NamedTuple):
    """The stored facts that decide on a signal.

    row: SapTaskState of its task.  known: the signal of this id.  earlier: the operator's previous
    signal of its kind.
    """

    row: AvroValue | None
    known: AvroValue | None
    earlier: AvroValue | None
    now: int


def checks(signal: Json, sha256: str, facts: Facts) -> Iterator[Check]:
    """Check steps 2 to 4 for a signal whose shape is valid."""
    row, kind = facts.row, signal["kind"]
    yield Check(rules.UNKNOWN_TASK.code, check_known_task(signal, row))
    if row is None:
        return
    yield Check(rules.CORRELATION_MISMATCH.code, check_correlation(signal, row))
    yield Check(rules.SIGNAL_ID_CONFLICT.code, _known(sha256, facts.known))
    if kind in _ONCE:
        yield Check(rules.SIGNAL_TOO_EARLY.code, _too_early(signal, row, facts.now))
        yield Check(rules.SELF_RATING.code, _self_rating(signal, row))
        yield Check(rules.SIGNAL_REPEATED.code, _repeated(signal, facts.earlier))
    elif kind == "cancel":
        yield Check(rules.NOT_ISSUER.code, _not_issuer(signal, row))
        yield Check(rules.TASK_CLOSED.code, check_open(row, facts.now))


def decide(signal: Command, ctx: DecisionContext) -> None:
    refusal = check_record(signal, ctx)
    if refusal is not None:
        send_ack(signal, refusal, ctx)
        return
    task = find_task(signal.known_id, ctx)
    facts = _facts(signal, task, ctx)
    refusal = first_failure(checks(signal.json, signal.known_sha256, facts))
    if task is not None and (refusal is None or refusal.rule in _AFTER_EXPIRY):
        outcomes.expire_overdue(task)
    if refusal is not None:
        send_ack(signal, refusal, ctx)
    elif task is not None:
        _accept(signal, task)


def _facts(signal: Command, task: TaskAggregate | None, ctx: DecisionContext) -> Facts:
    rows = ctx.work.rows
    known = rows(SAP_SIGNAL_IDS).get(id_key(signal))
    earlier = rows(SAP_SIGNAL_OPERATORS).get(operator_key(signal))
    return Facts(None if task is None else task.row, known, earlier, ctx.at)


def id_key(signal: Command) -> str:
    signal_id: str = signal.value["signalId"]
    return sap_key(signal.known_id, signal_id.lower())


def operator_key(signal: Command) -> str:
    value = signal.value
    return sap_key(signal.known_id, value["kind"], value["operator"]["agentId"])


def _known(sha256: str, known: AvroValue | None) -> Verdict | None:
    if known is None or known["sha256"] == sha256:
        return check_repeated(known)
    evidence = {"position": known["position"], "knownSha256": known["sha256"]}
    reason = f"signalId: the signal at {known['position']} has this id and other content."
    return Verdict(rules.SIGNAL_ID_CONFLICT.code, reason, "/signalId", evidence)


def _too_early(signal: Json, row: AvroValue, now: int) -> Verdict | None:
    if check_open(row, now) is not None:
        return None
    what = _ONCE[signal["kind"]]
    reason = f"kind: the task is {row['state']}; {what} is for one that has ended."
    return Verdict(rules.SIGNAL_TOO_EARLY.code, reason, "/kind", {"state": row["state"]})


def _self_rating(signal: Json, row: AvroValue) -> Verdict | None:
    operator, producer = signal["operator"]["agentId"], row["producer"]
    if producer is None or producer["agentId"] != operator:
        return None
    reason = f"operator.agentId: {operator} has produced the answer."
    return Verdict(rules.SELF_RATING.code, reason, "/operator/agentId", {"producer": operator})


def _repeated(signal: Json, earlier: AvroValue | None) -> Verdict | None:
    if earlier is None:
        return None
    operator, position = signal["operator"]["agentId"], earlier["position"]
    what = _ONCE[signal["kind"]]
    reason = f"operator.agentId: {operator} has given {what} at {position}."
    evidence = {"position": position}
    return Verdict(rules.SIGNAL_REPEATED.code, reason, "/operator/agentId", evidence)


def _not_issuer(signal: Json, row: AvroValue) -> Verdict | None:
    operator, issuer = signal["operator"], row["issuer"]["agentId"]
    if operator["agentId"] == issuer or operator["agentKind"] != "agent":
        return None
    reason = f"operator.agentId: an agent cancels its own tasks only; this one is {issuer}'s."
    evidence = {"agentId": operator["agentId"], "issuer": issuer}
    return Verdict(rules.NOT_ISSUER.code, reason, "/operator/agentId", evidence)


def _accept(signal: Command, task: TaskAggregate) -> None:
    ctx, value = task.ctx, signal.value
    send_ack(signal, ACCEPTED, ctx)
    known = {"sha256": signal.known_sha256, "position": signal.cause}
    ctx.work.rows(SAP_SIGNAL_IDS).put(id_key(signal), known)
    if value["kind"] in _ONCE:
        ctx.work.rows(SAP_SIGNAL_OPERATORS).put(operator_key(signal), known)
    node = f"sap:signal:{value['signalId'].lower()}"
    ctx.emit_edge(LineageEdge(node, "evaluates", f"sap:task:{task.task_id}"))
    if value["kind"] == "cancel":
        rule = rules.CANCELLED_BY_SIGNAL.code
        outcomes.publish(task, OutcomeDraft("CANCELLED", rule, alignment.unevaluated(task)))
        task.save()
    else:
        learning.of_signal(task, value)
