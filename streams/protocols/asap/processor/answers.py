"""What the service says in its own name: TaskUpdates that carry a state, or the end of a task.

Source: ASAP spec, 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import asap, from_json
from schemas.asap import EXT_ERROR, EXT_RESTORE, EXT_SNAPSHOT
from schemas.asap.words import ENVELOPE_RECORD
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.inbound import Command

Json = dict[str, Any]


def state(command: Command, case: Case, snapshot: Json | None) -> None:
    """Answer a StateQuery or a StateRestore.  snapshot: a StateSnapshot, None for none."""
    extensions = {EXT_SNAPSHOT: snapshot}
    _tell(case, command.sender, command.id, command.trace_id, extensions)


def restored(command: Command, case: Case, snapshot: Json) -> None:
    """Tell the worker to go on from a snapshot that the requester chose."""
    extensions = {EXT_SNAPSHOT: snapshot, EXT_RESTORE: True}
    _tell(case, case.worker, case.task_id, command.trace_id, extensions)


def failed(case: Case, code: str, message: str) -> None:
    """Tell requester and worker that the service has ended their task."""
    extensions = {EXT_ERROR: {"code": code, "message": message}}
    for participant in (case.requester, case.worker):
        _tell(case, participant, case.task_id, case.row["trace_id"], extensions)


def _tell(
    case: Case, recipient: str, correlation_id: str, trace_id: str | None, extensions: Json
) -> None:
    scene = case.scene
    update = asap.service_update(
        id=scene.next_envelope_id(),
        sender=scene.setting("SERVICE_URN"),
        recipient=recipient,
        task_id=case.task_id,
        status=case.status,
        at_ms=scene.at,
        correlation_id=correlation_id,
        trace_id=trace_id,
        extensions=extensions,
    )
    scene.deliver(recipient, from_json(ENVELOPE_RECORD, update), update["id"])
