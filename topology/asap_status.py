"""The status transitions and version numbers of ASAP tasks, for programs outside the log.

Agents and servers in process keep their own tasks: they use the table that the processor uses
(`topology.machines.asap_task`), without the transitions that only the service may make.

Source: ASAP guide, 4.1, 4.4 and 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, Self, TypeVar

from schemas.asap.enums import TaskStatus
from schemas.asap.errors import InvalidTransitionError
from topology.machine import step
from topology.machines.asap_task import MACHINE, TaskEvent, TaskState

VALID_TRANSITIONS: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    status: frozenset(
        TaskStatus(target)
        for (state, event), target in MACHINE.edges.items()
        if state == status and event != TaskEvent.TIME_OUT
    )
    for status in TaskStatus
}
"""The moves that agents may make: status → the statuses that may follow."""


class HasStatus(Protocol):
    """The protocol of a task that `transition` accepts: `schemas.asap.Task` is one."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> TaskStatus: ...
    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...


T = TypeVar("T", bound=HasStatus)


def can_transition(from_status: TaskStatus, to_status: TaskStatus) -> bool:
    """Check whether agents may make this transition.  The current status is not a valid target."""
    return to_status in VALID_TRANSITIONS.get(from_status, ())


def transition(task: T, new_status: TaskStatus, *, at: datetime | None = None) -> T:
    """Return a copy of the task in its new status, updated at that time (now in UTC).

    Raises InvalidTransitionError, whose details hold the `task_id` too.
    """
    if not can_transition(task.status, new_status):
        raise InvalidTransitionError(task.status, new_status, {"task_id": task.id})
    changes = {"status": TaskStatus(new_status), "updated_at": at or datetime.now(UTC)}
    return task.model_copy(update=changes)


def next_status(status: str | None, event: TaskEvent | str) -> TaskStatus:
    """Return the status that follows an event, including events of the service; None is the initial
    state.

    Raises InvalidTransitionError, which names the event, if the status has no edge for it.
    """
    state = TaskState.NONE.value if status is None else status
    target = step(MACHINE, state, event)
    if target is None:
        raise InvalidTransitionError(state, event)
    return TaskStatus(target)


def next_version(existing: Iterable[int], last: int = 0) -> int:
    """Return the version after all existing ones and the last one ever assigned; the first is 1."""
    return 1 + max([last, *existing])
