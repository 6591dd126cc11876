"""A rewind command is judged by where its rewind stands, and may move tasks (spec 4.6, 5.3).

For every record of `saop.rewinds`, in this order, the first that applies decides:

1. its shape breaks a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`;
3. the same command was accepted before (`rewind_duplicate`), or another one of its phase
   (`rewind_conflict`);
4. the rewind stands where the phase leads nowhere (`REFUSALS`);
5. a new rewind has nothing to go back to, or another one is prepared;
6. it is accepted.

A prepared rewind whose time was up before the command's lapses first, whether its timer has fired
or not; so what a command meets depends on the times of records alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas import to_json
from schemas.rules import Rule
from schemas.saop import rules, validate_rewind
from streams.engine.processor import AvroValue, Message, Timer, Work
from streams.protocols.saop.rtes import rewind_log, tasks
from streams.protocols.saop.rtes.rewind_apply import apply
from streams.protocols.saop.rtes.rewind_log import Command, Outcome
from streams.protocols.saop.rtes.rewind_plan import Target, Tasks, moves_json, plan, target_of
from streams.protocols.saop.rtes.scene import Scene
from topology.keys import composite, partition_of, split
from topology.machine import step
from topology.machines.saop_rewind import MACHINE, RewindEvent, RewindState
from topology.saop import REWINDS

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
"""What is said to a command for which the machine has no edge."""

ACCEPTED: Mapping[RewindEvent, Rule] = {
    _E.PREPARE: rules.REWIND_PREPARED,
    _E.APPLY: rules.REWIND_APPLIED,
    _E.CONFIRM: rules.REWIND_APPLIED,
    _E.ABORT: rules.REWIND_ABORTED,
}


def judge(message: Message, work: Work) -> None:
    """One command: one SaopRewindLogged, and what it moves."""
    command = Command(message)
    misfit = _misfit(message, work)
    if misfit is not None:
        rewind_log.send(command, Outcome("rejected", misfit), None, work)
        return
    scene = Scene(command.session_id, command.at, work)
    _lapse_overdue(command.at, scene)
    work.cause = command.cause
    key = rewind_key(command.session_id, command.value["rewind_id"])
    row = work.rows(REWINDS).get(key)
    refused = _refused(command, row)
    if refused is not None:
        rewind_log.send(command, refused, row, work)
    else:
        _accept(command, key, row, scene)


def too_large(message: Message, work: Work) -> None:
    """What the command would write is over a topic's bound: nothing moves."""
    outcome = Outcome("rejected", rules.OUTPUT_TOO_LARGE)
    rewind_log.send(Command(message), outcome, None, work)


def fire(timer: Timer, now_ms: int, work: Work) -> None:
    """The time of a prepared rewind is up."""
    scene = Scene(split(timer.key)[0], 0, work)
    _lapse(timer.key, now_ms, scene)


def rewind_key(session_id: str, rewind_id: str) -> str:
    return composite(session_id, rewind_id.lower())


def _misfit(message: Message, work: Work) -> Rule | None:
    """What can be said without looking at the session: shape, key, partition."""
    problems = validate_rewind(to_json("headrace.saop.SaopRewind", message.value))
    if problems:
        return _RULES[problems[0].rule]
    key = message.value["session_id"].encode()
    if message.record.key != key:
        return rules.KEY_MISMATCH
    if partition_of(key, work.partitions) != message.record.partition:
        return rules.PARTITION_MISMATCH
    return None


def _refused(command: Command, row: AvroValue | None) -> Outcome | None:
    """What the rewind's own story says against a command."""
    given = row["commands"].get(command.phase) if row else None
    if given is not None:
        if given == command.digest:
            return Outcome("duplicate", rules.REWIND_DUPLICATE)
        return Outcome("rejected", rules.REWIND_CONFLICT)
    state = _state(row)
    if step(MACHINE, state, command.phase) is None:
        return Outcome("rejected", REFUSALS[state, RewindEvent(command.phase)])
    return None


def _accept(command: Command, key: str, row: AvroValue | None, scene: Scene) -> None:
    """A command that its rewind's story allows."""
    if row is None:
        _begin(command, key, scene)
        return
    due_ms = row["lapses_at"]
    after = step(MACHINE, row["state"], command.phase)
    own = tasks.own(scene) if after == RewindState.APPLIED else {}
    if after == RewindState.APPLIED and row["target_task_id"] not in own:
        # Another protocol's task has taken its place.
        rewind_log.send(command, Outcome("rejected", rules.TASK_UNKNOWN), row, scene.work)
        return
    row = {**row, "state": after, "lapses_at": None}
    row["commands"] = {**row["commands"], command.phase: command.digest}
    if due_ms is not None:
        scene.work.delete_timer(due_ms, LAPSE, key)
        scene.session["prepared_rewind"] = None
    outcome = Outcome("accepted", ACCEPTED[RewindEvent(command.phase)])
    if after == RewindState.APPLIED:
        row, outcome = apply(command, row, own, scene)
    _keep(command, outcome, key, row, scene)


def _keep(command: Command, outcome: Outcome, key: str, row: AvroValue, scene: Scene) -> None:
    scene.work.rows(REWINDS).put(key, row)
    scene.save()
    rewind_log.send(command, outcome, row, scene.work)


def _begin(command: Command, key: str, scene: Scene) -> None:
    """The first command of a rewind: `prepare` or `apply`."""
    own, preparing = tasks.own(scene), command.phase == RewindEvent.PREPARE
    found = _target(command, own, scene, needs_hash=preparing)
    if isinstance(found, Rule):
        rewind_log.send(command, Outcome("rejected", found), None, scene.work)
        return
    row = _row(command, found)
    if preparing:
        due_ms = command.at + 1000 * scene.settings["SAOP_REWIND_LAPSE_S"]
        row["lapses_at"] = due_ms
        scene.session["prepared_rewind"] = command.value["rewind_id"]
        scene.work.set_timer(Timer(due_ms, LAPSE, key, {}))
        planned = plan(own, found)
        outcome = Outcome(
            "accepted", rules.REWIND_PREPARED, list(moves_json(planned)), planned.unchanged
        )
    else:
        row, outcome = apply(command, row, own, scene)
    _keep(command, outcome, key, row, scene)


def _target(command: Command, own: Tasks, scene: Scene, *, needs_hash: bool) -> Target | Rule:
    if scene.session["prepared_rewind"] is not None:
        return rules.REWIND_IN_PROGRESS
    if not scene.known:
        return rules.SESSION_UNKNOWN
    value = command.value
    return target_of(own, value["task_id"], value["git_hash"], needs_hash=needs_hash)


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


def _lapse_overdue(at: int, scene: Scene) -> None:
    """A command at the very time of the timer comes before it."""
    prepared = scene.session["prepared_rewind"]
    if prepared is None:
        return
    key = rewind_key(scene.session_id, prepared)
    row = scene.work.rows(REWINDS).get(key)
    assert row is not None
    if row["lapses_at"] < at:
        scene.work.cause = row["cause"]
        scene.work.delete_timer(row["lapses_at"], LAPSE, key)
        _lapse(key, at, scene)


def _lapse(key: str, now_ms: int, scene: Scene) -> None:
    row = scene.work.rows(REWINDS).get(key)
    if row is None or step(MACHINE, row["state"], RewindEvent.LAPSE) is None:
        return
    scene.work.cause = row["cause"]
    row = {**row, "state": RewindState.LAPSED, "lapses_at": None}
    scene.work.rows(REWINDS).put(key, row)
    scene.session["prepared_rewind"] = None
    scene.save()
    rewind_log.send_lapse(row, now_ms, scene.work)


def _state(row: AvroValue | None) -> RewindState:
    return RewindState.NONE if row is None else RewindState(row["state"])
