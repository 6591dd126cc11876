"""The error outcomes of a request (ASAP guide, 6.2, the rows of its table)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from schemas import Problem
from schemas.asap import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ASAPError,
    HandlerNotFoundError,
    InvalidTransitionError,
    MalformedEnvelopeError,
    TaskAlreadyCompletedError,
    TaskNotFoundError,
)

MALFORMED = "asap:protocol/malformed_envelope"
AUTH_REQUIRED = "asap:security/auth_required"
AUTH_INVALID = "asap:security/auth_invalid"
PERMISSION_DENIED = "asap:security/permission_denied"
HANDLER_NOT_FOUND = "asap:transport/handler_not_found"
TASK_FAILED = "asap:execution/task_failed"

ErrorType = Literal[
    "parse_error",
    "invalid_request",
    "invalid_params",
    "method_not_found",
    "auth_required",
    "auth_invalid",
    "role_missing",
    "missing_envelope",
    "invalid_envelope",
    "sender_mismatch",
    "handler_not_found",
    "invalid_payload",
    "rejected",
    "verdict_timeout",
    "log_unavailable",
    "task_timeout",
    "handler_error",
    "internal_error",
]
"""The kinds of errors, for the metrics."""
ERROR_TYPES: tuple[str, ...] = get_args(ErrorType)

_CODES: tuple[tuple[type[ASAPError], int], ...] = (
    (MalformedEnvelopeError, INVALID_PARAMS),
    (InvalidTransitionError, INVALID_PARAMS),
    (TaskNotFoundError, INVALID_PARAMS),
    (TaskAlreadyCompletedError, INVALID_PARAMS),
    (HandlerNotFoundError, METHOD_NOT_FOUND),
)


class RpcFault(Exception):
    """A JSON-RPC error as the result of a request.

    code: of JSON-RPC.  error: one sentence.  asap_error: ASAP's code, where it has one.
    data: more members of `data`.
    """

    def __init__(
        self,
        code: int,
        kind: ErrorType,
        error: str,
        asap_error: str | None = None,
        **data: Any,
    ) -> None:
        super().__init__(error)
        self.code, self.kind, self.error, self.asap_error = code, kind, error, asap_error
        self.more = data

    def data(self, correlation_id: str | None) -> dict[str, Any]:
        """Return the member `data` of the error.  correlation_id: of the envelope, if any."""
        members = {"error": self.error, **self.more}
        if self.asap_error is not None:
            members["asap_error"] = self.asap_error
            if correlation_id is not None:
                members["correlation_id"] = correlation_id
        return members


def validation_errors_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Return the problems as the member `validation_errors`."""
    return [problem._asdict() for problem in problems]


def handler_fault(exc: BaseException) -> RpcFault:
    """Return the fault for an exception that a handler raised."""
    name = type(exc).__name__
    if not isinstance(exc, ASAPError):
        return RpcFault(INTERNAL_ERROR, "handler_error", str(exc), TASK_FAILED, type=name)
    code = next((code for kind, code in _CODES if isinstance(exc, kind)), INTERNAL_ERROR)
    details = exc.details
    return RpcFault(code, "handler_error", str(exc), exc.code, type=name, details=details)
