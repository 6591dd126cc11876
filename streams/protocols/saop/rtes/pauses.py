"""Pauses of tasks: by the service after too many failures, and by operators; and their end.

A pause is a transition of the session, written to `rtes.events` in the transaction of what caused
it.  While it stands, the task's row has `pause`, its transitions are refused, and so are its turns.

For every record of `saop.controls`, in this order, the first that applies decides:

1. its shape violates a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`;
3. the same control was accepted before (`control_duplicate`), or another one of its id
   (`control_conflict`);
4. the session has no such task of its own (`task_unknown`);
5. the task's profile names no state of a pause (`profile_without_pause`);
6. the task is not paused (`task_not_paused`), or not active (`task_not_active`);
7. it is accepted.

Source: SAOP guide, 4.8.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas import to_json, uuid5_url
from schemas.rtes.rules import PAUSED, RESUMED
from schemas.rules import Rule
from schemas.saop import control_hash, rules, validate_control
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.engine.records import position
from streams.processing.decision import Decision
from streams.processing.envelope import partition_mismatch
from streams.protocols.saop.rtes.event import traceparent_of
from streams.protocols.saop.rtes.session import SessionState
from streams.protocols.saop.rtes.tasks import move_by_service, row_of
from topology.keys import composite
from topology.machines.task_profiles import PROFILES
from topology.saop import CONTROLS, SAOP_CONTROL_LOG

PAUSE = "pause"
_RULES = {rule.code: rule for rule in rules.ALL}


class Outcome(NamedTuple):
    """The outcome of a control.  record: the RtesRecord that it made, if it was accepted."""

    verdict: str
    rule: Rule
    record: AvroValue | None = None


def decide(message: Message, ctx: ProcessorContext) -> None:
    """Decide one control: one SaopControlLogged, and what it moves."""
    value, record = message.value, message.record
    violation = _check_record(message, ctx)
    if violation is not None:
        _send(message, Outcome("rejected", violation), ctx)
        return
    at, cause = record.timestamp, position(record)
    session = SessionState(value["session_id"], ctx, cause, at, traceparent_of(message))
    key = composite(value["session_id"], value["control_id"].lower())
    known, digest = ctx.rows(CONTROLS).get(key), control_hash(value)
    if known is not None:
        same = known["digest"] == digest
        outcome = (
            Outcome("duplicate", rules.CONTROL_DUPLICATE)
            if same
            else Outcome("rejected", rules.CONTROL_CONFLICT)
        )
    else:
        outcome = _obey(value, session)
    if outcome.record is not None:
        row = {"digest": digest, "sequence": outcome.record["sequence"]}
        ctx.rows(CONTROLS).put(key, row)
        session.save()
    _send(message, outcome, ctx)


def too_large(message: Message, ctx: ProcessorContext) -> None:
    """Refuse a control that would write more than a topic's bound: nothing moves."""
    _send(message, Outcome("rejected", rules.OUTPUT_TOO_LARGE), ctx)


def _check_record(message: Message, ctx: ProcessorContext) -> Rule | None:
    """Check what needs no look at the session: shape, key, partition."""
    problems = validate_control(to_json("headrace.saop.SaopControl", message.value))
    if problems:
        return _RULES[problems[0].rule]
    key = message.value["session_id"].encode()
    if message.record.key != key:
        return rules.KEY_MISMATCH
    if partition_mismatch(key, message.record.partition, ctx) is not None:
        return rules.PARTITION_MISMATCH
    return None


def _obey(value: AvroValue, session: SessionState) -> Outcome:
    """Pause or resume the task, if its state allows it."""
    row = row_of(value["task_id"], None, session)
    if row is None or row["origin"] is not None:
        return Outcome("rejected", rules.TASK_UNKNOWN)
    profile, pauses = PROFILES[row["profile"]], value["action"] == PAUSE
    to_state = profile.pause_to if pauses else profile.resume_to
    if to_state is None:
        return Outcome("rejected", rules.PROFILE_WITHOUT_PAUSE)
    if pauses and row["state"] not in profile.active:
        return Outcome("rejected", rules.TASK_NOT_ACTIVE)
    if not pauses and row["pause"] is None:
        return Outcome("rejected", rules.TASK_NOT_PAUSED)
    made = PAUSED if pauses else RESUMED
    accepted = rules.TASK_PAUSED_BY_OPERATOR if pauses else rules.TASK_RESUMED
    record = move_by_service(
        value["task_id"], row["state"], to_state, made, value["control_id"], session
    )
    return Outcome("accepted", accepted, record)


def _send(message: Message, outcome: Outcome, ctx: ProcessorContext) -> None:
    """Write the verdict on a control."""
    value, record, made = message.value, message.record, outcome.record
    fault = None
    if outcome.verdict == "rejected":
        fault = "service" if outcome.rule is rules.OUTPUT_TOO_LARGE else "sender"
    transition = None if made is None else made["payload"][1]
    named = ("control_id", "session_id", "task_id", "action", "requested_by", "reason")
    fact = {
        **{name: value[name] for name in named},
        "verdict": outcome.verdict,
        "rule": outcome.rule.code,
        "fault": fault,
        "from_state": None if transition is None else transition["from_state"],
        "to_state": None if transition is None else transition["to_state"],
        "sequence": None if made is None else made["sequence"],
        "at": record.timestamp,
        "cause": position(record),
    }
    decision = Decision(ctx, fact["cause"], fact["at"], traceparent_of(message))
    id = uuid5_url(f"headrace:{fact['cause']}/0")
    decision.send(SAOP_CONTROL_LOG, fact["session_id"], fact, id)
