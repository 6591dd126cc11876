"""What participants say about a task: TaskUpdate, TaskResponse, TaskCancel, messages and artifacts.

For every payload, in this order, the first that applies decides: there is no such task, or an older
one answers its request; the sender has not the role, or the recipient is another; then what the
payload's own judge asks.

The requester sent the task's request, the worker received it.  The service itself takes what asks
for a state or saves one.  A TaskUpdate moves the task by one step, or by none where the status is
the current one.  A TaskResponse may skip `working`: an agent that answers at once has worked, so
that step is written down, marked as implied.  The answer that ends the task is kept; one that comes
after the end is kept too, once, if it agrees with it.

Source: ASAP spec, 4.1 and 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from schemas.asap import change_of
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import deadlines, links, states, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    DecisionContext,
    artifact_node,
    envelope_node,
    task_node,
)
from streams.protocols.asap.processor.task import TaskAggregate, find_task
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


class Role(NamedTuple):
    """senders: of `requester`, `worker`.  service: the recipient may be the service, too."""

    senders: tuple[str, ...]
    service: bool = False


_BOTH = ("requester", "worker")

ROLES: Mapping[str, Role] = {
    "TaskUpdate": Role(("worker",), service=True),
    "TaskResponse": Role(("worker",)),
    "TaskCancel": Role(("requester",)),
    "MessageSend": Role(_BOTH),
    "ArtifactNotify": Role(("worker",)),
    "StateQuery": Role(_BOTH, service=True),
    "StateRestore": Role(_BOTH, service=True),
}
"""By payload; what does not go to the service goes to the other participant."""


def judge(command: Command, ctx: DecisionContext) -> Outcome:
    task = find_task(command.task_key, ctx)
    if task is None:
        return _unknown(command, ctx)
    deadlines.catch_up(task)
    return _role_refusal(command, task) or _JUDGES[command.kind](command, task)


def _unknown(command: Command, ctx: DecisionContext) -> Outcome:
    key = command.task_key
    older = links.redirect_of(ctx, key)
    if older is None:
        return verdicts.refuse("task_not_found", f"task_id: there is no task {key}.")
    detail = f"task_id: the request {key} was answered by the task {older}."
    refused = verdicts.refuse("task_redirected", detail, task_id=older)
    return refused._replace(figures={"task_id": older})


def _role_refusal(command: Command, task: TaskAggregate) -> Outcome | None:
    """Why this sender may not send this payload to this recipient."""
    role = ROLES[command.kind]
    played = [name for name in role.senders if task.row[name] == command.sender]
    if not played:
        who = " or the ".join(role.senders)
        detail = f"sender: only the {who} of the task may send a {command.kind}."
        expected = [task.row[name] for name in role.senders]
        return verdicts.refuse("not_participant", detail, task=task, expected=expected)
    others = [task.row[_other(name)] for name in played]
    if role.service:
        others.append(task.ctx.setting("SERVICE_URN"))
    if command.recipient in others:
        return None
    detail = f"recipient: a {command.kind} of this sender goes to {' or '.join(others)}."
    return verdicts.refuse("wrong_recipient", detail, task=task, expected=others)


def _other(name: str) -> str:
    return "worker" if name == "requester" else "requester"


def _update(command: Command, task: TaskAggregate) -> Outcome:
    if command.recipient == task.ctx.setting("SERVICE_URN"):
        return _save(command, task)
    payload, change = command.payload, change_of(command.json)
    refused = (
        _one_alias_too_many(command, task)
        or states.ended(task, f"a TaskUpdate to {payload['status']}")
        or _mismatch(payload["update_type"], payload["status"], task)
        or _no_edge(task, payload["status"])
        or states.change_conflict(change, task)
    )
    if refused is not None:
        return refused
    _note_alias(command, task)
    moved = _follow(task, command)
    figures = states.apply_change(change, task, command.id)
    return verdicts.accept("status_changed" if moved else "progress_noted", task=task, **figures)


def _response(command: Command, task: TaskAggregate) -> Outcome:
    payload, change = command.payload, change_of(command.json)
    status = payload["status"]
    late = task.terminal
    refused = _one_alias_too_many(command, task) or (
        _disagrees(task, status) if late else _unreachable(task, status)
    )
    if refused is not None:
        return refused
    _note_alias(command, task)
    if not late and not _direct(task.status, status):
        task.move(WORKING, implied=True)
    moved = _follow(task, command)
    if status in MACHINE.terminal:
        size = sum(len(payload[name] or "") for name in _TEXTS)
        size += len(command.value["extensions_json"] or "")
        task.keep_response(command.canonical, size)
        rule = "response_recorded"
    else:
        rule = "status_changed" if moved else "progress_noted"
    states.apply_change(change, task, command.id)
    return verdicts.accept(rule, task=task)


def _save(command: Command, task: TaskAggregate) -> Outcome:
    """What a worker sends to the service saves a state, whatever else it says."""
    change = change_of(command.json)
    refused = (
        _one_alias_too_many(command, task)
        or states.ended(task, "a new state")
        or states.change_conflict(change, task)
    )
    if refused is not None:
        return refused
    _note_alias(command, task)
    figures = states.apply_change(change, task, command.id)
    return verdicts.accept("state_saved", task=task, deliver=False, **figures)


def _follow(task: TaskAggregate, command: Command) -> bool:
    """Take over what the worker says; returns whether the task moves by it."""
    payload, row = command.payload, task.row
    moved = payload["status"] != task.status
    if moved:
        task.move(payload["status"])
    if payload.get("progress_json") is not None:
        row["progress_json"] = payload["progress_json"]
    if task.status == INPUT_REQUIRED and payload.get("input_request_json") is not None:
        row["input_request_json"] = payload["input_request_json"]
    task.touch()
    return bool(moved)


def _foreign(command: Command, task: TaskAggregate) -> str | None:
    """The worker's own id of the task, if it is not known yet."""
    named: str = command.payload["task_id"]
    return None if named == task.task_id or named in task.row["aliases"] else named


def _note_alias(command: Command, task: TaskAggregate) -> None:
    alias = _foreign(command, task)
    if alias is not None:
        task.row["aliases"] = [*task.row["aliases"], alias]


def _one_alias_too_many(command: Command, task: TaskAggregate) -> Outcome | None:
    if _foreign(command, task) is None or len(task.row["aliases"]) < MAX_ALIASES:
        return None
    detail = f"task_id: the task has {MAX_ALIASES} other ids already."
    return verdicts.refuse("too_many_aliases", detail, task=task, aliases=MAX_ALIASES)


def _mismatch(update_type: str, status: str, task: TaskAggregate) -> Outcome | None:
    asks = update_type == INPUT_REQUIRED and status != INPUT_REQUIRED
    ends = update_type == "progress" and status in MACHINE.terminal
    if not asks and not ends:
        return None
    detail = f"update_type: {update_type} does not go with the status {status}."
    figures = {"update_type": update_type, "status": status}
    return verdicts.refuse("update_type_mismatch", detail, task=task, **figures)


def _direct(current: str, status: str) -> bool:
    """Whether an agent gets there in one step, or is there."""
    return status == current or (current, status) in _MOVES


def _no_edge(task: TaskAggregate, status: str) -> Outcome | None:
    if _direct(task.status, status):
        return None
    detail = f"status: a task that is {task.status} does not become {status}."
    figures = {"from_status": task.status, "to_status": status}
    return verdicts.refuse("invalid_transition", detail, task=task, **figures)


def _unreachable(task: TaskAggregate, status: str) -> Outcome | None:
    through = (task.status, WORKING) in _MOVES and (WORKING, status) in _MOVES
    return None if through else _no_edge(task, status)


def _disagrees(task: TaskAggregate, status: str) -> Outcome | None:
    if status == task.status and task.response is None:
        return None
    return states.ended(task, f"a TaskResponse with the status {status}")


def _cancel(command: Command, task: TaskAggregate) -> Outcome:
    refused = states.ended(task, "TaskCancel")
    if refused is not None:
        return refused
    task.move("cancelled")
    own = envelope_node(command.id)
    task.ctx.draw(LineageEdge(own, "retracts", task_node(task.task_id)))
    return verdicts.accept("task_cancelled", task=task)


def _message(command: Command, task: TaskAggregate) -> Outcome:
    """What the user says is what a task that asked for input has waited for."""
    asked = task.status == INPUT_REQUIRED and command.sender == task.requester
    if not asked or command.payload["role"] != "user":
        return verdicts.accept("message_forwarded", task=task)
    task.move(WORKING)
    return verdicts.accept("input_received", task=task)


def _artifact(command: Command, task: TaskAggregate) -> Outcome:
    own = artifact_node(task.task_id, command.payload["artifact_id"])
    task.ctx.draw(LineageEdge(own, "derived_from", task_node(task.task_id)))
    return verdicts.accept("artifact_noted", task=task)


_JUDGES: Mapping[str, Callable[[Command, TaskAggregate], Outcome]] = {
    "TaskUpdate": _update,
    "TaskResponse": _response,
    "TaskCancel": _cancel,
    "MessageSend": _message,
    "ArtifactNotify": _artifact,
    "StateQuery": states.query,
    "StateRestore": states.restore,
}
PAYLOADS = tuple(_JUDGES)
