"""One task during one decision: its row, its transitions, and the service's envelopes about it.

`verdicts.advance` writes the row once, with the sequence of the decision.

Source: ASAP guide, 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import asap, from_json
from schemas.asap import EXT_ERROR, EXT_RESTORE, EXT_SNAPSHOT
from schemas.asap.constants import ENVELOPE_RECORD
from streams.engine.processor import AvroValue
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import HOUR_MS, DecisionContext
from topology.asap import ASAP_RESPONSES, ASAP_TASKS_TABLE
from topology.keys import composite
from topology.machines.asap_task import MACHINE

Json = dict[str, Any]

TASK, EXPIRY = "task", "expiry"
"""The timers of a task's timeout and of the expiry of its events."""
EVENT_SOURCED = "event-sourced"
RESPONSE_IN_ROW = 8192
"""The characters of JSON up to which a response is stored in the task's row (ASAP guide, 5.7)."""


class TaskAggregate:
    """A task.  row: AsapTask, owned by the caller.  transitions: those of this decision."""

    def __init__(self, row: AvroValue, ctx: DecisionContext) -> None:
        self.row = row
        self.ctx = ctx
        self.transitions: list[AvroValue] = []
        self.snapshot_version: int | None = None
        """The version that this decision saved."""
        self.patch_json: str | None = None
        """The merge patch of this decision, for an event-sourced task."""
        self.checkpoint = False
        """The state after this decision is a checkpoint."""

    @property
    def task_id(self) -> str:
        task_id: str = self.row["task_id"]
        return task_id

    @property
    def status(self) -> str:
        status: str = self.row["status"]
        return status

    @property
    def requester(self) -> str:
        requester: str = self.row["requester"]
        return requester

    @property
    def worker(self) -> str:
        worker: str = self.row["worker"]
        return worker

    @property
    def terminal(self) -> bool:
        return self.status in MACHINE.terminal

    @property
    def began(self) -> int | None:
        """Return when the task was created, in ms, if this decision has ended it."""
        ended = self.transitions and self.transitions[-1]["to_status"] in MACHINE.terminal
        return self.row["created_at"] if ended else None

    @property
    def event_sourced(self) -> bool:
        return bool(self.row["state_mode"] == EVENT_SOURCED)

    @property
    def sequence(self) -> int:
        """Return the sequence of this decision."""
        sequence: int = self.row["sequence"]
        return sequence + 1

    @property
    def response(self) -> AvroValue | None:
        """Return the TaskResponse that ended the task: AsapEnvelope."""
        row = self.row["response"]
        return row or self.ctx.work.rows(ASAP_RESPONSES).get(composite(self.task_id))

    def save(self) -> None:
        """Write the row, with the cause of the current decision."""
        self.row["cause"] = self.ctx.cause
        self.ctx.work.rows(ASAP_TASKS_TABLE).put(composite(self.task_id), self.row)

    def touch(self) -> None:
        self.row["updated_at"] = self.ctx.at

    def move(self, status: str, *, implied: bool = False) -> None:
        """Add a transition; clear the members that belong to the former state."""
        row = self.row
        step = {"from_status": row["status"], "to_status": status, "implied": implied}
        self.transitions.append(step)
        row["status"] = status
        if status != "input_required":
            row["input_request_json"] = None
        self.touch()
        if self.terminal:
            self._close()

    def _close(self) -> None:
        row, ctx = self.row, self.ctx
        ctx.work.delete_timer(row["timeout_at"], TASK, self.task_id)
        if self.event_sourced:
            due = ctx.at + row["event_retention_hours"] * HOUR_MS
            ctx.set_timer(due, EXPIRY, self.task_id)

    def keep_response(self, envelope: AvroValue, size: int) -> None:
        """Store the response.  envelope: AsapEnvelope.  size: characters of its JSON."""
        if size <= RESPONSE_IN_ROW:
            self.row["response"] = envelope
        else:
            self.ctx.work.rows(ASAP_RESPONSES).put(composite(self.task_id), envelope)


def find_task(task_id: str, ctx: DecisionContext) -> TaskAggregate | None:
    """Return the task with this id, if there is one."""
    row = ctx.work.rows(ASAP_TASKS_TABLE).get(composite(task_id))
    return None if row is None else TaskAggregate(row, ctx)


def send_state(command: Command, task: TaskAggregate, snapshot: Json | None) -> None:
    """Answer a StateQuery or a StateRestore.  snapshot: a StateSnapshot, None for none."""
    extensions = {EXT_SNAPSHOT: snapshot}
    _send_update(task, command.sender, command.id, command.trace_id, extensions)


def send_restored(command: Command, task: TaskAggregate, snapshot: Json) -> None:
    """Tell the worker to continue from a snapshot that the requester chose."""
    extensions = {EXT_SNAPSHOT: snapshot, EXT_RESTORE: True}
    _send_update(task, task.worker, task.task_id, command.trace_id, extensions)


def send_failed(task: TaskAggregate, code: str, message: str) -> None:
    """Tell requester and worker that the service has ended their task."""
    extensions = {EXT_ERROR: {"code": code, "message": message}}
    for participant in (task.requester, task.worker):
        _send_update(task, participant, task.task_id, task.row["trace_id"], extensions)


def _send_update(
    task: TaskAggregate, recipient: str, correlation_id: str, trace_id: str | None, extensions: Json
) -> None:
    ctx = task.ctx
    update = asap.service_update(
        id=ctx.next_envelope_id(),
        sender=ctx.setting("SERVICE_URN"),
        recipient=recipient,
        task_id=task.task_id,
        status=task.status,
        at_ms=ctx.at,
        correlation_id=correlation_id,
        trace_id=trace_id,
        extensions=extensions,
    )
    ctx.deliver(recipient, from_json(ENVELOPE_RECORD, update), update["id"])
