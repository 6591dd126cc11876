"""A Signal is what an operator says of a task: a rating, a note, an approval, or its cancel.

For every record of `sap.signals`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. `unknown_task`, `correlation_mismatch`;
3. its id is known: `duplicate`, or `signal_id_conflict` for another content;
4. of a rating or an approval: `signal_too_early`, `self_rating`, `signal_repeated`;
   of a cancel: `not_issuer`, `task_closed`.

Source: SAP spec, 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.protocols.sap.processor import (
    acks,
    commands,
    deadlines,
    judging,
    learning,
    lineage,
    publishing,
)
from streams.protocols.sap.processor.acks import Check, Ruling
from streams.protocols.sap.processor.case import Case, find
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.outcomes import Answer
from streams.protocols.sap.processor.scene import Scene
from topology.sap import SAP_SIGNAL_IDS, SAP_SIGNAL_OPERATORS, sap_key

Json = dict[str, Any]

_JUDGEMENTS = {"rating": "a rating", "approval": "an approval"}
"""Kinds that an operator gives once, and of a closed task only; with what people call them."""
_AFTER_EXPIRY = frozenset(
    rule.code
    for rule in (rules.SELF_RATING, rules.SIGNAL_REPEATED, rules.NOT_ISSUER, rules.TASK_CLOSED)
)
"""Refusals of a signal that is judged as what comes after a deadline that has passed."""


class Facts(NamedTuple):
    """What a signal is judged by.

    row: SapTaskState of its task.  known: the signal of this id.  said: the operator's of its kind.
    """

    row: AvroValue | None
    known: AvroValue | None
    said: AvroValue | None
    now: int


def checks(signal: Json, sha256: str, facts: Facts) -> Iterator[Check]:
    """Steps 2 to 4 for a signal whose shape is right."""
    row, kind = facts.row, signal["kind"]
    yield Check(rules.UNKNOWN_TASK.code, commands.unknown_task(signal, row))
    if row is None:
        return
    yield Check(rules.CORRELATION_MISMATCH.code, commands.uncorrelated(signal, row))
    yield Check(rules.SIGNAL_ID_CONFLICT.code, _known(sha256, facts.known))
    if kind in _JUDGEMENTS:
        yield Check(rules.SIGNAL_TOO_EARLY.code, _too_early(signal, row, facts.now))
        yield Check(rules.SELF_RATING.code, _self_rating(signal, row))
        yield Check(rules.SIGNAL_REPEATED.code, _repeated(signal, facts.said))
    elif kind == "cancel":
        yield Check(rules.NOT_ISSUER.code, _not_issuer(signal, row))
        yield Check(rules.TASK_CLOSED.code, commands.closed(row, facts.now))


def judge(signal: Command, scene: Scene) -> None:
    refusal = commands.misfit(signal, scene)
    if refusal is not None:
        acks.send(signal, refusal, scene)
        return
    case = find(signal.known_id, scene)
    facts = _facts(signal, case, scene)
    refusal = acks.first(checks(signal.json, signal.known_sha256, facts))
    if case is not None and (refusal is None or refusal.rule in _AFTER_EXPIRY):
        deadlines.expire_overdue(case)
    if refusal is not None:
        acks.send(signal, refusal, scene)
    elif case is not None:
        _accept(signal, case)


def _facts(signal: Command, case: Case | None, scene: Scene) -> Facts:
    rows = scene.work.rows
    known = rows(SAP_SIGNAL_IDS).get(id_key(signal))
    said = rows(SAP_SIGNAL_OPERATORS).get(operator_key(signal))
    return Facts(None if case is None else case.row, known, said, scene.now)


def id_key(signal: Command) -> str:
    signal_id: str = signal.value["signalId"]
    return sap_key(signal.known_id, signal_id.lower())


def operator_key(signal: Command) -> str:
    value = signal.value
    return sap_key(signal.known_id, value["kind"], value["operator"]["agentId"])


def _known(sha256: str, known: AvroValue | None) -> Ruling | None:
    if known is None or known["sha256"] == sha256:
        return commands.repeated(known)
    figures = {"position": known["position"], "knownSha256": known["sha256"]}
    reason = f"signalId: the signal at {known['position']} has this id and other content."
    return Ruling(rules.SIGNAL_ID_CONFLICT.code, reason, "/signalId", figures)


def _too_early(signal: Json, row: AvroValue, now: int) -> Ruling | None:
    if commands.closed(row, now) is not None:
        return None
    what = _JUDGEMENTS[signal["kind"]]
    reason = f"kind: the task is {row['state']}; {what} is for one that has ended."
    return Ruling(rules.SIGNAL_TOO_EARLY.code, reason, "/kind", {"state": row["state"]})


def _self_rating(signal: Json, row: AvroValue) -> Ruling | None:
    operator, producer = signal["operator"]["agentId"], row["producer"]
    if producer is None or producer["agentId"] != operator:
        return None
    reason = f"operator.agentId: {operator} has produced the answer."
    return Ruling(rules.SELF_RATING.code, reason, "/operator/agentId", {"producer": operator})


def _repeated(signal: Json, said: AvroValue | None) -> Ruling | None:
    if said is None:
        return None
    operator, place = signal["operator"]["agentId"], said["position"]
    what = _JUDGEMENTS[signal["kind"]]
    reason = f"operator.agentId: {operator} has given {what} at {place}."
    figures = {"position": place}
    return Ruling(rules.SIGNAL_REPEATED.code, reason, "/operator/agentId", figures)


def _not_issuer(signal: Json, row: AvroValue) -> Ruling | None:
    operator, issuer = signal["operator"], row["issuer"]["agentId"]
    if operator["agentId"] == issuer or operator["agentKind"] != "agent":
        return None
    reason = f"operator.agentId: an agent cancels its own tasks only; this one is {issuer}'s."
    figures = {"agentId": operator["agentId"], "issuer": issuer}
    return Ruling(rules.NOT_ISSUER.code, reason, "/operator/agentId", figures)


def _accept(signal: Command, case: Case) -> None:
    scene, value = case.scene, signal.value
    acks.send(signal, acks.ACCEPTED, scene)
    known = {"sha256": signal.known_sha256, "position": signal.cause}
    scene.work.rows(SAP_SIGNAL_IDS).put(id_key(signal), known)
    if value["kind"] in _JUDGEMENTS:
        scene.work.rows(SAP_SIGNAL_OPERATORS).put(operator_key(signal), known)
    scene.draw(lineage.signal(value["signalId"].lower(), case.task_id))
    if value["kind"] == "cancel":
        rule = rules.CANCELLED_BY_SIGNAL.code
        publishing.publish(case, Answer("CANCELLED", rule, judging.unevaluated(case)))
        case.save()
    else:
        learning.of_signal(case, value)
