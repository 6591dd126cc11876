"""A worker tells how its task goes on: TaskUpdate and TaskResponse.

A TaskUpdate moves the task by one step, or by none where the status is the current one.  A
TaskResponse may skip `working`: an agent that answers at once has worked, so that step is written
down, marked as implied.  The answer that ends the task is kept; one that comes after the end is
kept too, once, if it agrees with it.

Source: ASAP spec, 4.1 and 5.4.
"""

from __future__ import annotations

from schemas.asap import change_of
from streams.protocols.asap.processor import changes, verdicts
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.verdicts import Outcome
from topology import VALID_TRANSITIONS
from topology.machines.asap_task import MACHINE

MAX_ALIASES = 16
WORKING, INPUT_REQUIRED = "working", "input_required"
_MOVES = frozenset(
    (current.value, status.value)
    for current, following in VALID_TRANSITIONS.items()
    for status in following
)
_TEXTS = ("result_json", "final_state_json", "metrics_json")


def update(command: Command, case: Case) -> Outcome:
    if command.recipient == case.scene.setting("SERVICE_URN"):
        return _save(command, case)
    payload, change = command.payload, change_of(command.json)
    refused = (
        _one_alias_too_many(command, case)
        or ended(case, f"a TaskUpdate to {payload['status']}")
        or _mismatch(payload["update_type"], payload["status"], case)
        or _no_edge(case, payload["status"])
        or changes.conflict(change, case)
    )
    if refused is not None:
        return refused
    _note_alias(command, case)
    moved = _follow(case, command)
    figures = changes.apply(change, case, command.id)
    return verdicts.accept("status_changed" if moved else "progress_noted", case=case, **figures)


def response(command: Command, case: Case) -> Outcome:
    payload, change = command.payload, change_of(command.json)
    status = payload["status"]
    late = case.terminal
    refused = _one_alias_too_many(command, case) or (
        _disagrees(case, status) if late else _unreachable(case, status)
    )
    if refused is not None:
        return refused
    _note_alias(command, case)
    if not late and not _direct(case.status, status):
        case.move(WORKING, implied=True)
    moved = _follow(case, command)
    if status in MACHINE.terminal:
        size = sum(len(payload[name] or "") for name in _TEXTS)
        size += len(command.value["extensions_json"] or "")
        case.keep_response(command.canonical, size)
        rule = "response_recorded"
    else:
        rule = "status_changed" if moved else "progress_noted"
    changes.apply(change, case, command.id)
    return verdicts.accept(rule, case=case)


def ended(case: Case, what: str) -> Outcome | None:
    """what: that comes too late, in words."""
    if not case.terminal:
        return None
    detail = f"task_id: the task is {case.status}, and takes no {what.removeprefix('a ')}."
    return verdicts.refuse("task_already_terminal", detail, case=case, status=case.status)


def _save(command: Command, case: Case) -> Outcome:
    """What a worker sends to the service saves a state, whatever else it says."""
    change = change_of(command.json)
    refused = (
        _one_alias_too_many(command, case)
        or ended(case, "a new state")
        or changes.conflict(change, case)
    )
    if refused is not None:
        return refused
    _note_alias(command, case)
    figures = changes.apply(change, case, command.id)
    return verdicts.accept("state_saved", case=case, deliver=False, **figures)


def _follow(case: Case, command: Command) -> bool:
    """Take over what the worker says; returns whether the task moves by it."""
    payload, row = command.payload, case.row
    moved = payload["status"] != case.status
    if moved:
        case.move(payload["status"])
    if payload.get("progress_json") is not None:
        row["progress_json"] = payload["progress_json"]
    if case.status == INPUT_REQUIRED and payload.get("input_request_json") is not None:
        row["input_request_json"] = payload["input_request_json"]
    case.touch()
    return bool(moved)


def _foreign(command: Command, case: Case) -> str | None:
    """The worker's own id of the task, if it is not known yet."""
    named: str = command.payload["task_id"]
    return None if named == case.task_id or named in case.row["aliases"] else named


def _note_alias(command: Command, case: Case) -> None:
    alias = _foreign(command, case)
    if alias is not None:
        case.row["aliases"] = [*case.row["aliases"], alias]


def _one_alias_too_many(command: Command, case: Case) -> Outcome | None:
    if _foreign(command, case) is None or len(case.row["aliases"]) < MAX_ALIASES:
        return None
    detail = f"task_id: the task has {MAX_ALIASES} other ids already."
    return verdicts.refuse("too_many_aliases", detail, case=case, aliases=MAX_ALIASES)


def _mismatch(update_type: str, status: str, case: Case) -> Outcome | None:
    asks = update_type == INPUT_REQUIRED and status != INPUT_REQUIRED
    ends = update_type == "progress" and status in MACHINE.terminal
    if not asks and not ends:
        return None
    detail = f"update_type: {update_type} does not go with the status {status}."
    figures = {"update_type": update_type, "status": status}
    return verdicts.refuse("update_type_mismatch", detail, case=case, **figures)


def _direct(current: str, status: str) -> bool:
    """Whether an agent gets there in one step, or is there."""
    return status == current or (current, status) in _MOVES


def _no_edge(case: Case, status: str) -> Outcome | None:
    if _direct(case.status, status):
        return None
    detail = f"status: a task that is {case.status} does not become {status}."
    figures = {"from_status": case.status, "to_status": status}
    return verdicts.refuse("invalid_transition", detail, case=case, **figures)


def _unreachable(case: Case, status: str) -> Outcome | None:
    through = (case.status, WORKING) in _MOVES and (WORKING, status) in _MOVES
    return None if through else _no_edge(case, status)


def _disagrees(case: Case, status: str) -> Outcome | None:
    if status == case.status and case.response is None:
        return None
    return ended(case, f"a TaskResponse with the status {status}")
