"""One task during one decision: its row, its envelope, its transitions, and its agent.

The row is written once, when the decision ends (`save`), with the state it ends in.

Source: SAP guide, 5.1 and 5.2.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from schemas import to_json
from streams.engine.headers import iso
from streams.engine.processor import AvroValue
from streams.protocols.sap.decision import DecisionContext
from topology.machines.sap_task import MACHINE
from topology.sap import (
    CACHE_KEY,
    HEURISTICS,
    PRIORITY,
    SAP_INBOX,
    SAP_TASK_ENVELOPES,
    SAP_TASK_STATES_TABLE,
    sap_key,
)

Json = dict[str, Any]

TASK = "headrace.sap.SapTask"
DEADLINE = "sap.deadline"
"""The timer of a task's deadline."""
NONE = "none"
"""The state of a task before its first."""


class TaskAggregate:
    """A task within a decision.  row: SapTaskState.  envelope: the SapTask, if already read."""

    def __init__(
        self, row: AvroValue, ctx: DecisionContext, envelope: AvroValue | None = None
    ) -> None:
        self.row = row
        self.ctx = ctx
        self._envelope = envelope

    @property
    def task_id(self) -> str:
        task_id: str = self.row["taskId"]
        return task_id

    @cached_property
    def envelope(self) -> AvroValue:
        """Return the task's envelope, as the issuer sent it."""
        envelope = self._envelope
        if envelope is None:
            envelope = self.ctx.work.rows(SAP_TASK_ENVELOPES).get(sap_key(self.task_id))
        assert envelope is not None, "an accepted task has its envelope"
        return envelope

    @cached_property
    def json(self) -> Json:
        """Return the envelope in its JSON form."""
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
        """Return the values fixed at acceptance: SapAccepted."""
        accepted: AvroValue = self.row["accepted"]
        return accepted

    @property
    def policy(self) -> AvroValue:
        """Return the policy of the task's evaluations.

        Thresholds and learned checks apply only under the constitution that they were derived
        under.
        """
        policy: AvroValue = self.accepted["policy"]
        if self.row["constitution"] == self.ctx.constitution.label:
            return policy
        return {**policy, "thresholds": {}, "extraChecks": []}

    @property
    def overdue(self) -> bool:
        return is_overdue(self.row, self.ctx.at)

    def dispatch(self) -> None:
        """Send the task, as the issuer sent it, to the named agent, else to an agent with its
        capability.
        """
        target = self.row["target"]
        self.row["dispatched"] = True
        heuristics = str(self.accepted["policy"]["heuristicsVersion"])
        headers = [
            (CACHE_KEY.name, self.accepted["cacheKey"].encode()),
            (HEURISTICS.name, heuristics.encode()),
        ]
        telemetry = self.envelope["telemetry"]
        if telemetry is not None and telemetry["priority"] is not None:
            headers.append((PRIORITY.name, telemetry["priority"].encode()))
        key = target["agentId"] if target["agentId"] is not None else target["capability"]
        self.ctx.send(SAP_INBOX, key, self.envelope, self.task_id, headers)

    def emit_transition(self, before: str) -> None:
        """Send RTES the step from a state to the one that the task is in now."""
        event_id = self.ctx.next_id()
        transition = {
            "task_id": self.task_id,
            "from_state": before,
            "to_state": self.state,
            "git_hash": None,
            "timestamp": iso(self.ctx.at).decode(),
        }
        record = "headrace.rtes.TaskTransition"
        self.ctx.emit_rtes_event("sap", event_id, self.row["correlationId"], record, transition)

    def save(self) -> None:
        self.row["updatedAt"] = self.ctx.at
        self.ctx.work.rows(SAP_TASK_STATES_TABLE).put(sap_key(self.task_id), self.row)


def is_overdue(row: AvroValue, now: int) -> bool:
    """Return whether an open task's deadline has passed."""
    deadline_at = row["accepted"]["deadlineAt"]
    return row["state"] not in MACHINE.terminal and deadline_at is not None and now > deadline_at


def find_task(task_id: str, ctx: DecisionContext) -> TaskAggregate | None:
    """Return the task of this id (in lower case), if one was accepted."""
    row = ctx.work.rows(SAP_TASK_STATES_TABLE).get(sap_key(task_id))
    return None if row is None else TaskAggregate(row, ctx)
