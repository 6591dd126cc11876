"""The participants' envelopes about a task: updates, responses, cancellations, messages, artifacts.

For every payload, in this order, the first that applies decides: there is no such task, or an older
one answers its request; the sender lacks the role, or the recipient is wrong; then the checks of
the payload's own handler.

The requester sent the task's request, the worker received it.  The service itself receives what
reads or saves a state.  A TaskUpdate moves the task by one transition, or by none if the status is
the current one.  A TaskResponse may skip `working`: an agent that answers at once has worked, so
that transition is recorded, marked as implied.  The response that ends the task is stored; one that
comes after the end is stored too, once, if it has the same status.

Source: ASAP guide, 4.1 and 5.4.
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
_TRANSITIONS = frozenset(
    (current.value, status.value)
    for current, following in VALID_TRANSITIONS.items()
    for status in following
)
_OPEN_MEMBERS = ("result_json", "final_state_json", "metrics_json")


class Role(NamedTuple):
    """The senders of a payload: `requester`, `worker`.  service: it may be the recipient, too."""

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
"""The roles by payload type; the recipient is the other participant, or the service."""


def handle_update(command: Command, ctx: DecisionContext) -> Outcome:
    task = find_task(command.task_key, ctx)
    if task is None:
        return _refuse_unknown(command, ctx)
    deadlines.catch_up(task)
    return _role_refusal(command, task) or _HANDLERS[command.kind](command, task)


def _refuse_unknown(command: Command, ctx: DecisionContext) -> Outcome:
    key, source = command.task_key, command.key_source
    older = links.redirect_of(ctx, key)
    if older is None:
        detail = f"{source.name}: there is no task {key}, which is {source.meaning}."
        return verdicts.refuse("task_not_found", detail)
    detail = f"{source.name}: the request {key} was answered by the task {older}."
    refused = verdicts.refuse("task_redirected", detail, task_id=older)
    return refused._replace(figures={"task_id": older})


def _role_refusal(command: Command, task: TaskAggregate) -> Outcome | None:
    """Return a refusal if this sender may not send this payload to this recipient."""
    role = ROLES[command.kind]
    roles = [name for name in role.senders if task.row[name] == command.sender]
    if not roles:
        who = " or the ".join(role.senders)
        detail = f"sender: only the {who} of the task may send a {command.kind}."
        expected = [task.row[name] for name in role.senders]
        return verdicts.refuse("not_participant", detail, task=task, expected=expected)
    others = [task.row[_other(name)] for name in roles]
    if role.service:
        others.append(task.ctx.setting("SERVICE_URN"))
    if command.recipient in others:
        return None
    detail = f"recipient: a {command.kind} of this sender goes to {' or '.join(others)}."
    return verdicts.refuse("wrong_recipient", detail, task=task, expected=others)


def _other(name: str) -> str:
    return "worker" if name == "requester" else "requester"


def _task_update(command: Command, task: TaskAggregate) -> Outcome:
    if command.recipient == task.ctx.setting("SERVICE_URN"):
        return _state_save(command, task)
    payload, change = command.payload, change_of(command.json)
    refusal = (
        _alias_refusal(command, task)
        or states.terminal_refusal(task, f"a TaskUpdate to {payload['status']}")
        or _update_type_refusal(payload["update_type"], payload["status"], task)
        or _transition_refusal(task, payload["status"])
        or states.mode_refusal(change, task)
    )
    if refusal is not None:
        return refusal
    _add_alias(command, task)
    has_moved = _apply_status(task, command)
    figures = states.apply_change(change, task, command.id)
    return verdicts.accept(
        "status_changed" if has_moved else "progress_noted", task=task, **figures
    )


def _task_response(command: Command, task: TaskAggregate) -> Outcome:
    payload, change = command.payload, change_of(command.json)
    status = payload["status"]
    late = task.terminal
    refusal = _alias_refusal(command, task) or (
        _late_response_refusal(task, status) if late else _response_transition_refusal(task, status)
    )
    if refusal is not None:
        return refusal
    _add_alias(command, task)
    if not late and not _is_direct(task.status, status):
        task.move(WORKING, implied=True)
    has_moved = _apply_status(task, command)
    if status in MACHINE.terminal:
        size = sum(len(payload[name] or "") for name in _OPEN_MEMBERS)
        size += len(command.value["extensions_json"] or "")
        task.keep_response(command.canonical, size)
        rule = "response_recorded"
    else:
        rule = "status_changed" if has_moved else "progress_noted"
    states.apply_change(change, task, command.id)
    return verdicts.accept(rule, task=task)


def _state_save(command: Command, task: TaskAggregate) -> Outcome:
    """Save the state in a worker's TaskUpdate to the service; its other members have no effect."""
    change = change_of(command.json)
    refusal = (
        _alias_refusal(command, task)
        or states.terminal_refusal(task, "a new state")
        or states.mode_refusal(change, task)
    )
    if refusal is not None:
        return refusal
    _add_alias(command, task)
    figures = states.apply_change(change, task, command.id)
    return verdicts.accept("state_saved", task=task, deliver=False, **figures)


def _apply_status(task: TaskAggregate, command: Command) -> bool:
    """Apply the worker's status and progress; return whether the status has changed."""
    payload, row = command.payload, task.row
    has_moved = payload["status"] != task.status
    if has_moved:
        task.move(payload["status"])
    if payload.get("progress_json") is not None:
        row["progress_json"] = payload["progress_json"]
    if task.status == INPUT_REQUIRED and payload.get("input_request_json") is not None:
        row["input_request_json"] = payload["input_request_json"]
    task.touch()
    return bool(has_moved)


def _new_alias(command: Command, task: TaskAggregate) -> str | None:
    """Return the worker's own id of the task, if it is new."""
    alias: str = command.payload["task_id"]
    return None if alias == task.task_id or alias in task.row["aliases"] else alias


def _add_alias(command: Command, task: TaskAggregate) -> None:
    alias = _new_alias(command, task)
    if alias is not None:
        task.row["aliases"] = [*task.row["aliases"], alias]


def _alias_refusal(command: Command, task: TaskAggregate) -> Outcome | None:
    if _new_alias(command, task) is None or len(task.row["aliases"]) < MAX_ALIASES:
        return None
    detail = f"task_id: the task has {MAX_ALIASES} other ids already."
    return verdicts.refuse("too_many_aliases", detail, task=task, aliases=MAX_ALIASES)


def _update_type_refusal(update_type: str, status: str, task: TaskAggregate) -> Outcome | None:
    asks = update_type == INPUT_REQUIRED and status != INPUT_REQUIRED
    ends = update_type == "progress" and status in MACHINE.terminal
    if not asks and not ends:
        return None
    detail = f"update_type: {update_type} does not go with the status {status}."
    figures = {"update_type": update_type, "status": status}
    return verdicts.refuse("update_type_mismatch", detail, task=task, **figures)


def _is_direct(current: str, status: str) -> bool:
    """Return whether a status is the current one or one transition away."""
    return status == current or (current, status) in _TRANSITIONS


def _transition_refusal(task: TaskAggregate, status: str) -> Outcome | None:
    if _is_direct(task.status, status):
        return None
    detail = f"status: a task that is {task.status} does not become {status}."
    figures = {"from_status": task.status, "to_status": status}
    return verdicts.refuse("invalid_transition", detail, task=task, **figures)


def _response_transition_refusal(task: TaskAggregate, status: str) -> Outcome | None:
    through = (task.status, WORKING) in _TRANSITIONS and (WORKING, status) in _TRANSITIONS
    return None if through else _transition_refusal(task, status)


def _late_response_refusal(task: TaskAggregate, status: str) -> Outcome | None:
    if status == task.status and task.response is None:
        return None
    return states.terminal_refusal(task, f"a TaskResponse with the status {status}")


def _cancel(command: Command, task: TaskAggregate) -> Outcome:
    refusal = states.terminal_refusal(task, "TaskCancel")
    if refusal is not None:
        return refusal
    task.move("cancelled")
    node = envelope_node(command.id)
    task.ctx.emit_edge(LineageEdge(node, "retracts", task_node(task.task_id)))
    return verdicts.accept("task_cancelled", task=task)


def _message(command: Command, task: TaskAggregate) -> Outcome:
    """Forward a message; one from the user resumes a task that waits for input."""
    is_input = task.status == INPUT_REQUIRED and command.sender == task.requester
    if not is_input or command.payload["role"] != "user":
        return verdicts.accept("message_forwarded", task=task)
    task.move(WORKING)
    return verdicts.accept("input_received", task=task)


def _artifact(command: Command, task: TaskAggregate) -> Outcome:
    node = artifact_node(task.task_id, command.payload["artifact_id"])
    task.ctx.emit_edge(LineageEdge(node, "derived_from", task_node(task.task_id)))
    return verdicts.accept("artifact_noted", task=task)


_HANDLERS: Mapping[str, Callable[[Command, TaskAggregate], Outcome]] = {
    "TaskUpdate": _task_update,
    "TaskResponse": _task_response,
    "TaskCancel": _cancel,
    "MessageSend": _message,
    "ArtifactNotify": _artifact,
    "StateQuery": states.handle_query,
    "StateRestore": states.handle_restore,
}
PAYLOADS = tuple(_HANDLERS)
