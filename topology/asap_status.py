"""How the status of an ASAP task moves, and how its versions count, for programs outside the log.

Agents and servers in process keep tasks of their own: they move them by the same table as the
processor does (`topology.machines.asap_task`), less what only the service may do.

Source: ASAP spec, 4.1, 4.4 and 9.3.
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


class Movable(Protocol):
    """What `transition` asks of a task: `schemas.asap.Task` is one."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> TaskStatus: ...
    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...


T = TypeVar("T", bound=Movable)


def can_transition(from_status: TaskStatus, to_status: TaskStatus) -> bool:
    """Whether agents may move a task so.  A status equal to the current one is no move."""
    return to_status in VALID_TRANSITIONS.get(from_status, ())


def transition(task: T, new_status: TaskStatus, *, at: datetime | None = None) -> T:
    """The task in its new status, updated at that time (now in UTC); the one given is untouched.

    Raises InvalidTransitionError, whose details hold the `task_id` too.
    """
    if not can_transition(task.status, new_status):
        raise InvalidTransitionError(task.status, new_status, {"task_id": task.id})
    moved = {"status": TaskStatus(new_status), "updated_at": at or datetime.now(UTC)}
    return task.model_copy(update=moved)


def next_status(status: str | None, event: TaskEvent | str) -> TaskStatus:
    """The status that follows an event, the service's included; None is the state before any.

    Raises InvalidTransitionError for an event without an edge, and names the event in it.
    """
    state = TaskState.NONE.value if status is None else status
    target = step(MACHINE, state, event)
    if target is None:
        raise InvalidTransitionError(state, event)
    return TaskStatus(target)


def next_version(existing: Iterable[int], last: int = 0) -> int:
    """The version after all that exist and the last that was ever given; versions begin at 1."""
    return 1 + max([last, *existing])
