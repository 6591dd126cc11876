"""The error tree (ASAP guide, 2.8)."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from schemas.asap import (
    ASAPError,
    HandlerNotFoundError,
    InvalidTransitionError,
    MalformedEnvelopeError,
    TaskAlreadyCompletedError,
    TaskNotFoundError,
    TaskStatus,
)

CASES: list[tuple[ASAPError, str, str, dict[str, Any]]] = [
    (ASAPError("a:b/c", "why"), "a:b/c", "why", {}),
    (
        InvalidTransitionError(TaskStatus.COMPLETED, "working"),
        "asap:protocol/invalid_state",
        "Invalid transition from 'completed' to 'working'",
        {"from_state": "completed", "to_state": "working"},
    ),
    (
        MalformedEnvelopeError("no sender"),
        "asap:protocol/malformed_envelope",
        "Malformed envelope: no sender",
        {},
    ),
    (TaskNotFoundError("t"), "asap:task/not_found", "Task not found: t", {"task_id": "t"}),
    (
        TaskAlreadyCompletedError("t", TaskStatus.FAILED),
        "asap:task/already_completed",
        "Task already completed: t (status: failed)",
        {"task_id": "t", "current_status": "failed"},
    ),
    (
        HandlerNotFoundError("TaskPause"),
        "asap:transport/handler_not_found",
        "No handler registered for payload type: TaskPause",
        {"payload_type": "TaskPause"},
    ),
]


@pytest.mark.parametrize(("error", "code", "message", "details"), CASES)
def test_errors_tell_code_message_and_details(
    error: ASAPError, code: str, message: str, details: dict[str, Any]
) -> None:
    assert (error.code, error.message, str(error), error.details) == (
        code,
        message,
        message,
        details,
    )
    assert error.to_dict() == {"code": code, "message": message, "details": details}
    assert all(getattr(error, name) == value for name, value in details.items())


@pytest.mark.parametrize("error", [case[0] for case in CASES])
def test_errors_survive_pickling(error: ASAPError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.to_dict() == error.to_dict()
    assert str(again) == str(error)


def test_details_of_the_caller_are_merged_over_the_built_in_ones() -> None:
    error = TaskNotFoundError("t", {"task_id": "alias", "hint": 1})
    assert error.details == {"task_id": "alias", "hint": 1}
    assert error.task_id == "t"
    malformed = MalformedEnvelopeError("x", {"a": 1})
    assert (malformed.reason, malformed.details) == ("x", {"a": 1})
