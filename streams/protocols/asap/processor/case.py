"""One task during one decision: its row, and how it moves.

The row is written once, by `publishing`, with the sequence of the decision.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue
from streams.protocols.asap.processor.scene import Scene
from topology.asap import ASAP_RESPONSES, ASAP_TASKS_TABLE
from topology.keys import composite
from topology.machines.asap_task import MACHINE

TASK, EXPIRY = "task", "expiry"
"""Timers: a task's time is over; its events need not be kept any more."""
EVENT_SOURCED = "event-sourced"
HOUR_MS = 3_600_000
RESPONSE_IN_ROW = 8192
"""Characters of JSON up to which a response stands in the task's row (spec 9.20)."""


class Case:
    """row: AsapTask, the caller's own.  transitions: the steps of this decision."""

    def __init__(self, row: AvroValue, scene: Scene) -> None:
        self.row = row
        self.scene = scene
        self.transitions: list[AvroValue] = []
        self.snapshot_version: int | None = None
        """The version that this decision saved."""
        self.patch_json: str | None = None
        """The merge patch that this decision brought to an event-sourced task."""
        self.checkpoint = False
        """The state after this decision is a point to return to."""

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
    def event_sourced(self) -> bool:
        return bool(self.row["state_mode"] == EVENT_SOURCED)

    @property
    def sequence(self) -> int:
        """The sequence of this decision."""
        sequence: int = self.row["sequence"]
        return sequence + 1

    @property
    def response(self) -> AvroValue | None:
        """The TaskResponse that ended the task: AsapEnvelope."""
        row = self.row["response"]
        return row or self.scene.work.rows(ASAP_RESPONSES).get(composite(self.task_id))

    def save(self) -> None:
        """Write the row, by the decision at hand."""
        self.row["cause"] = self.scene.cause
        self.scene.work.rows(ASAP_TASKS_TABLE).put(composite(self.task_id), self.row)

    def touch(self) -> None:
        self.row["updated_at"] = self.scene.at

    def move(self, status: str, *, implied: bool = False) -> None:
        """Take one step; what belongs to the state that is left goes with it."""
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
        row, scene = self.row, self.scene
        scene.work.delete_timer(row["timeout_at"], TASK, self.task_id)
        if self.event_sourced:
            due = scene.at + row["event_retention_hours"] * HOUR_MS
            scene.set_timer(due, EXPIRY, self.task_id)

    def keep_response(self, envelope: AvroValue, size: int) -> None:
        """envelope: AsapEnvelope.  size: characters of its JSON."""
        if size <= RESPONSE_IN_ROW:
            self.row["response"] = envelope
        else:
            self.scene.work.rows(ASAP_RESPONSES).put(composite(self.task_id), envelope)


def find(task_id: str, scene: Scene) -> Case | None:
    """The task of this id, if there is one."""
    row = scene.work.rows(ASAP_TASKS_TABLE).get(composite(task_id))
    return None if row is None else Case(row, scene)
