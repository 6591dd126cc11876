"""The errors of ASAP (ASAP guide, 2.8).

ASAPError ├── InvalidTransitionError      asap:protocol/invalid_state
├── MalformedEnvelopeError      asap:protocol/malformed_envelope
├── TaskNotFoundError           asap:task/not_found ├── TaskAlreadyCompletedError
asap:task/already_completed └── HandlerNotFoundError        asap:transport/handler_not_found
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Details = Mapping[str, Any]


class ASAPError(Exception):
    """An error with a code of the taxonomy.

    details: members to add; they override the error's own.
    """

    def __init__(self, code: str, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": self.details}

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.args, self.__dict__)


def _unpickle(kind: type[ASAPError], args: tuple[Any, ...], state: dict[str, Any]) -> ASAPError:
    """Rebuild a pickled error: the constructors take other arguments than the message."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InvalidTransitionError(ASAPError):
    """A task's state machine has no such edge."""

    def __init__(self, from_state: str, to_state: str, details: Details | None = None) -> None:
        self.from_state, self.to_state = _text_of(from_state), _text_of(to_state)
        super().__init__(
            "asap:protocol/invalid_state",
            f"Invalid transition from '{self.from_state}' to '{self.to_state}'",
            {"from_state": self.from_state, "to_state": self.to_state, **(details or {})},
        )


class MalformedEnvelopeError(ASAPError):
    """An envelope, or the payload in it, does not have its form."""

    def __init__(self, reason: str, details: Details | None = None) -> None:
        self.reason = reason
        super().__init__(
            "asap:protocol/malformed_envelope", f"Malformed envelope: {reason}", details
        )


class TaskNotFoundError(ASAPError):
    """No task of this id is known."""

    def __init__(self, task_id: str, details: Details | None = None) -> None:
        self.task_id = task_id
        super().__init__(
            "asap:task/not_found",
            f"Task not found: {task_id}",
            {"task_id": task_id, **(details or {})},
        )


class TaskAlreadyCompletedError(ASAPError):
    """The task is in a terminal state."""

    def __init__(self, task_id: str, current_status: str, details: Details | None = None) -> None:
        self.task_id, self.current_status = task_id, _text_of(current_status)
        super().__init__(
            "asap:task/already_completed",
            f"Task already completed: {task_id} (status: {self.current_status})",
            {"task_id": task_id, "current_status": self.current_status, **(details or {})},
        )


class HandlerNotFoundError(ASAPError):
    """A payload type without a handler."""

    def __init__(self, payload_type: str) -> None:
        self.payload_type = payload_type
        super().__init__(
            "asap:transport/handler_not_found",
            f"No handler registered for payload type: {payload_type}",
            {"payload_type": payload_type},
        )


def _text_of(status: str) -> str:
    """Return the text itself, for a member of an enum too."""
    return str.__str__(status)
