"""What an agent says about a task, judged by where the task stands.

For every payload, in this order, the first that applies decides: there is no such task, or an older
one answers its request; the sender has not the role, or the recipient is another; then what the
payload's own judge asks.

Source: ASAP spec, 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.processing.graph import Edge
from streams.protocols.asap.processor import (
    claims,
    deadlines,
    lineage,
    roles,
    states,
    updates,
    verdicts,
)
from streams.protocols.asap.processor.case import Case, find
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from streams.protocols.asap.processor.verdicts import Outcome


def judge(command: Command, scene: Scene) -> Outcome:
    case = find(command.task_key, scene)
    if case is None:
        return _unknown(command, scene)
    deadlines.catch_up(case)
    return roles.refusal(command, case) or _JUDGES[command.kind](command, case)


def _unknown(command: Command, scene: Scene) -> Outcome:
    key = command.task_key
    older = claims.redirect_of(scene, key)
    if older is None:
        return verdicts.refuse("task_not_found", f"task_id: there is no task {key}.")
    detail = f"task_id: the request {key} was answered by the task {older}."
    refused = verdicts.refuse("task_redirected", detail, task_id=older)
    return refused._replace(figures={"task_id": older})


def _cancel(command: Command, case: Case) -> Outcome:
    refused = updates.ended(case, "TaskCancel")
    if refused is not None:
        return refused
    case.move("cancelled")
    own = lineage.envelope(command.id)
    case.scene.draw(Edge(own, "retracts", lineage.task(case.task_id)))
    return verdicts.accept("task_cancelled", case=case)


def _message(command: Command, case: Case) -> Outcome:
    """What the user says is what a task that asked for input has waited for."""
    asked = case.status == updates.INPUT_REQUIRED and command.sender == case.requester
    if not asked or command.payload["role"] != "user":
        return verdicts.accept("message_forwarded", case=case)
    case.move(updates.WORKING)
    return verdicts.accept("input_received", case=case)


def _artifact(command: Command, case: Case) -> Outcome:
    own = lineage.artifact(case.task_id, command.payload["artifact_id"])
    case.scene.draw(Edge(own, "derived_from", lineage.task(case.task_id)))
    return verdicts.accept("artifact_noted", case=case)


_JUDGES: Mapping[str, Callable[[Command, Case], Outcome]] = {
    "TaskUpdate": updates.update,
    "TaskResponse": updates.response,
    "TaskCancel": _cancel,
    "MessageSend": _message,
    "ArtifactNotify": _artifact,
    "StateQuery": states.query,
    "StateRestore": states.restore,
}
PAYLOADS = tuple(_JUDGES)
