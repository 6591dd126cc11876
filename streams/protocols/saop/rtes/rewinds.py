"""The decision on a rewind command, by the state of its rewind; it may set tasks back.

Source: SAOP guide, 4.6, 5.3.

For every record of `saop.rewinds`, in this order, the first that applies decides:

1. its shape violates a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`;
3. the same command was accepted before (`rewind_duplicate`), or another one of its phase
   (`rewind_conflict`);
4. the state of the rewind has no transition for the phase (`REFUSALS`);
5. a new rewind has no target, or another one is prepared;
6. it is accepted.

A prepared rewind that was due before the command's time expires first, whether its timer has fired
or not; so a decision depends on the times of records alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas import to_json
from schemas.rules import Rule
from schemas.saop import rules, validate_rewind
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.processing.envelope import partition_mismatch
from streams.protocols.saop.rtes import rewind_log
from streams.protocols.saop.rtes.rewind_log import Command, Outcome, apply, traceparent_of_row
from streams.protocols.saop.rtes.rewind_plan import Target, Tasks, moves_json, plan, target_of
from streams.protocols.saop.rtes.session import SessionState
from streams.protocols.saop.rtes.tasks import own_tasks
from topology.keys import composite, split
from topology.machine import step
from topology.machines.saop_rewind import MACHINE, RewindEvent, RewindState
from topology.saop import REWINDS, RTES_SESSIONS

LAPSE = "rtes.rewind"
"""Kind of the timers of prepared rewinds."""

_S = RewindState
_E = RewindEvent
_RULES = {rule.code: rule for rule in rules.ALL}

REFUSALS: Mapping[tuple[RewindState, RewindEvent], Rule] = {
    (_S.NONE, _E.CONFIRM): rules.REWIND_UNKNOWN,
    (_S.NONE, _E.ABORT): rules.REWIND_UNKNOWN,
    (_S.PREPARED, _E.APPLY): rules.REWIND_CONFLICT,
    (_S.APPLIED, _E.PREPARE): rules.REWIND_CONFLICT,
    (_S.APPLIED, _E.APPLY): rules.REWIND_CONFLICT,
    (_S.APPLIED, _E.CONFIRM): rules.REWIND_ALREADY_APPLIED,
    (_S.APPLIED, _E.ABORT): rules.REWIND_ALREADY_APPLIED,
    (_S.ABORTED, _E.APPLY): rules.REWIND_CONFLICT,
    (_S.ABORTED, _E.CONFIRM): rules.REWIND_ABORTED,
    (_S.LAPSED, _E.APPLY): rules.REWIND_CONFLICT,
    (_S.LAPSED, _E.CONFIRM): rules.REWIND_LAPSED,
}
"""The rules that refuse a command for which the machine has no edge."""

ACCEPTED: Mapping[RewindEvent, Rule] = {
    _E.PREPARE: rules.REWIND_PREPARED,
    _E.APPLY: rules.REWIND_APPLIED,
    _E.CONFIRM: rules.REWIND_APPLIED,
    _E.ABORT: rules.REWIND_ABORTED,
}


def decide(message: Message, ctx: ProcessorContext) -> None:
    """Decide one command: one SaopRewindLogged, and what it moves."""
    command = Command(message)
    violation = _check_record(message, ctx)
    if violation is not None:
        rewind_log.send(command, Outcome("rejected", violation), None, ctx)
        return
    _lapse_overdue(command, ctx)
    session = _session_of(command, ctx)
    key = rewind_key(command.session_id, command.value["rewind_id"])
    row = ctx.rows(REWINDS).get(key)
    refusal = _refuse(command, row)
    if refusal is not None:
        rewind_log.send(command, refusal, row, ctx)
    else:
        _accept(command, key, row, session)


def too_large(message: Message, ctx: ProcessorContext) -> None:
    """Refuse a command that would write more than a topic's bound: nothing moves."""
    outcome = Outcome("rejected", rules.OUTPUT_TOO_LARGE)
    rewind_log.send(Command(message), outcome, None, ctx)


def fire(timer: Timer, now_ms: int, ctx: ProcessorContext) -> None:
    """End a prepared rewind whose time is up."""
    ctx.rows(RTES_SESSIONS).load([composite(split(timer.key)[0])])
    _lapse(timer.key, now_ms, ctx)


def rewind_key(session_id: str, rewind_id: str) -> str:
    return composite(session_id, rewind_id.lower())


def _check_record(message: Message, ctx: ProcessorContext) -> Rule | None:
    """Check what needs no look at the session: shape, key, partition."""
    problems = validate_rewind(to_json("headrace.saop.SaopRewind", message.value))
    if problems:
        return _RULES[problems[0].rule]
    key = message.value["session_id"].encode()
    if message.record.key != key:
        return rules.KEY_MISMATCH
    if partition_mismatch(key, message.record.partition, ctx) is not None:
        return rules.PARTITION_MISMATCH
    return None


def _refuse(command: Command, row: AvroValue | None) -> Outcome | None:
    """Refuse a command that the rewind's own history does not allow."""
    digest = row["commands"].get(command.phase) if row else None
    if digest is not None:
        if digest == command.digest:
            return Outcome("duplicate", rules.REWIND_DUPLICATE)
        return Outcome("rejected", rules.REWIND_CONFLICT)
    state = _state(row)
    if step(MACHINE, state, command.phase) is None:
        return Outcome("rejected", REFUSALS[state, RewindEvent(command.phase)])
    return None


def _accept(command: Command, key: str, row: AvroValue | None, session: SessionState) -> None:
    """Execute a command that the state of its rewind allows."""
    if row is None:
        _begin(command, key, session)
        return
    due_ms = row["lapses_at"]
    after = step(MACHINE, row["state"], command.phase)
    tasks = own_tasks(session) if after == RewindState.APPLIED else {}
    if after == RewindState.APPLIED and row["target_task_id"] not in tasks:
        # Another protocol's task has replaced it.
        rewind_log.send(command, Outcome("rejected", rules.TASK_UNKNOWN), row, session.work)
        return
    row = {**row, "state": after, "lapses_at": None}
    row["commands"] = {**row["commands"], command.phase: command.digest}
    if due_ms is not None:
        session.work.delete_timer(due_ms, LAPSE, key)
        session.row["prepared_rewind"] = None
    outcome = Outcome("accepted", ACCEPTED[RewindEvent(command.phase)])
    if after == RewindState.APPLIED:
        row, outcome = apply(command, row, tasks, session)
    _put_rewind(command, outcome, key, row, session)


def _put_rewind(
    command: Command, outcome: Outcome, key: str, row: AvroValue, session: SessionState
) -> None:
    session.work.rows(REWINDS).put(key, row)
    session.save()
    rewind_log.send(command, outcome, row, session.work)


def _begin(command: Command, key: str, session: SessionState) -> None:
    """Execute the first command of a rewind: `prepare` or `apply`."""
    tasks, preparing = own_tasks(session), command.phase == RewindEvent.PREPARE
    target = _target(command, tasks, session, needs_hash=preparing)
    if isinstance(target, Rule):
        rewind_log.send(command, Outcome("rejected", target), None, session.work)
        return
    row = _row(command, target)
    if preparing:
        due_ms = command.at + 1000 * session.settings["SAOP_REWIND_LAPSE_S"]
        row["lapses_at"] = due_ms
        session.row["prepared_rewind"] = command.value["rewind_id"]
        session.work.set_timer(Timer(due_ms, LAPSE, key, {}))
        planned = plan(tasks, target)
        outcome = Outcome(
            "accepted", rules.REWIND_PREPARED, list(moves_json(planned)), planned.unchanged
        )
    else:
        row, outcome = apply(command, row, tasks, session)
    _put_rewind(command, outcome, key, row, session)


def _target(
    command: Command, tasks: Tasks, session: SessionState, *, needs_hash: bool
) -> Target | Rule:
    if session.row["prepared_rewind"] is not None:
        return rules.REWIND_IN_PROGRESS
    if not session.is_known:
        return rules.SESSION_UNKNOWN
    value = command.value
    return target_of(tasks, value["task_id"], value["git_hash"], needs_hash=needs_hash)


def _row(command: Command, target: Target) -> AvroValue:
    preparing, parent = command.phase == RewindEvent.PREPARE, command.traceparent
    return {
        "rewind_id": command.value["rewind_id"],
        "session_id": command.session_id,
        "state": RewindState.PREPARED if preparing else RewindState.APPLIED,
        "target_task_id": target.task_id,
        "git_hash": target.git_hash,
        "cut_sequence": target.cut,
        "first_sequence": None,
        "last_sequence": None,
        "requested_by": command.value["requested_by"],
        "commands": {command.phase: command.digest},
        "lapses_at": None,
        "cause": command.cause,
        "traceparent": None if parent is None else parent.decode("latin-1"),
    }


def _session_of(command: Command, ctx: ProcessorContext) -> SessionState:
    return SessionState(command.session_id, ctx, command.cause, command.at, command.traceparent)


def _lapse_overdue(command: Command, ctx: ProcessorContext) -> None:
    """End the session's prepared rewind if its time was up before the command.

    A command at the very time of the timer comes before it.
    """
    prepared = _session_of(command, ctx).row["prepared_rewind"]
    if prepared is None:
        return
    key = rewind_key(command.session_id, prepared)
    row = ctx.rows(REWINDS).get(key)
    assert row is not None
    if row["lapses_at"] < command.at:
        _lapse(key, command.at, ctx, row["lapses_at"])


def _lapse(key: str, now_ms: int, ctx: ProcessorContext, timer_ms: int | None = None) -> None:
    """End a prepared rewind.  timer_ms: of the timer that has not fired yet."""
    row = ctx.rows(REWINDS).get(key)
    if row is None or step(MACHINE, row["state"], RewindEvent.LAPSE) is None:
        return
    session = SessionState(split(key)[0], ctx, row["cause"], now_ms, traceparent_of_row(row))
    if timer_ms is not None:
        ctx.delete_timer(timer_ms, LAPSE, key)
    row = {**row, "state": RewindState.LAPSED, "lapses_at": None}
    ctx.rows(REWINDS).put(key, row)
    session.row["prepared_rewind"] = None
    session.save()
    rewind_log.send_lapse(row, now_ms, ctx)


def _state(row: AvroValue | None) -> RewindState:
    return RewindState.NONE if row is None else RewindState(row["state"])
