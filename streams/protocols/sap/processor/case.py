"""One task during one decision: its row, its envelope, and how it moves.

The row is written once, when the decision ends (`save`), with the state it ends in.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from schemas import to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.processor.scene import Scene
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_TASK_ENVELOPES, SAP_TASK_STATES_TABLE, sap_key

Json = dict[str, Any]

TASK = "headrace.sap.SapTask"
DEADLINE = "sap.deadline"
"""The timer of a task's deadline."""


class Case:
    """row: SapTaskState.  envelope: the SapTask, if it has been read already."""

    def __init__(self, row: AvroValue, scene: Scene, envelope: AvroValue | None = None) -> None:
        self.row = row
        self.scene = scene
        self._envelope = envelope

    @property
    def task_id(self) -> str:
        task_id: str = self.row["taskId"]
        return task_id

    @cached_property
    def envelope(self) -> AvroValue:
        """The task as it was sent."""
        found = self._envelope
        if found is None:
            found = self.scene.work.rows(SAP_TASK_ENVELOPES).get(sap_key(self.task_id))
        assert found is not None, "an accepted task has its envelope"
        return found

    @cached_property
    def task(self) -> Json:
        """The same in its JSON form."""
        return to_json(TASK, self.envelope)

    @property
    def state(self) -> str:
        state: str = self.row["state"]
        return state

    @property
    def closed(self) -> bool:
        return self.state in MACHINE.terminal

    @property
    def accepted(self) -> AvroValue:
        accepted: AvroValue = self.row["accepted"]
        return accepted

    @property
    def policy(self) -> AvroValue:
        """What its evaluations go by: thresholds and learned checks were derived under one
        constitution, and hold under that one only.
        """
        policy: AvroValue = self.accepted["policy"]
        if self.row["constitution"] == self.scene.constitution.label:
            return policy
        return {**policy, "thresholds": {}, "extraChecks": []}

    @property
    def overdue(self) -> bool:
        return is_overdue(self.row, self.scene.now)

    def save(self) -> None:
        self.row["updatedAt"] = self.scene.now
        self.scene.work.rows(SAP_TASK_STATES_TABLE).put(sap_key(self.task_id), self.row)


def is_overdue(row: AvroValue, now: int) -> bool:
    """Whether a task's deadline has passed while it is open."""
    deadline_at = row["accepted"]["deadlineAt"]
    return row["state"] not in MACHINE.terminal and deadline_at is not None and now > deadline_at


def find(task_id: str, scene: Scene) -> Case | None:
    """The task of this id (in lower case), if one was accepted."""
    row = scene.work.rows(SAP_TASK_STATES_TABLE).get(sap_key(task_id))
    return None if row is None else Case(row, scene)
