"""The closed sets of words (ASAP guide, 2.1)."""

from __future__ import annotations

from enum import Enum


class TaskStatus(str, Enum):
    """Where a task stands."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"

    @classmethod
    def terminal_states(cls) -> frozenset[TaskStatus]:
        return _TERMINAL

    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = frozenset(
    {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.REJECTED}
)


class MessageRole(str, Enum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class UpdateType(str, Enum):
    """What a TaskUpdate tells."""

    PROGRESS = "progress"
    INPUT_REQUIRED = "input_required"
    STATUS_CHANGE = "status_change"
