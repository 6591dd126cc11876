"""The error outcomes of a request (ASAP guide, 6.2, the rows of its table)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from schemas import Problem
from schemas.asap import (
    ERROR_MESSAGES,
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
from streams.api.jsonrpc import UNKNOWN_ERROR

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


class ReadIds(NamedTuple):
    """The ids by which an answer is traced; None where the request has no readable one.

    correlation_id: the envelope's own, else its id.  trace_id: its own, else the derived one.
    """

    correlation_id: str | None = None
    trace_id: str | None = None


class RpcFault(Exception):
    """A JSON-RPC error as the result of a request.

    code: of JSON-RPC.  error: one sentence.  asap_error: ASAP's code, where it has one.
    message: of JSON-RPC, by default the fixed one of the code.  data: more members of `data`.
    """

    def __init__(
        self,
        code: int,
        kind: ErrorType,
        error: str,
        asap_error: str | None = None,
        message: str | None = None,
        **data: Any,
    ) -> None:
        super().__init__(error)
        self.message = ERROR_MESSAGES.get(code, UNKNOWN_ERROR) if message is None else message
        self.code, self.kind, self.error, self.asap_error = code, kind, error, asap_error
        self.more = data

    def data(self, ids: ReadIds) -> dict[str, Any]:
        """Return the member `data` of the error.  ids: of the envelope, as far as it is readable"""
        members = {"error": self.error, **self.more}
        if self.asap_error is not None:
            members["asap_error"] = self.asap_error
        return members | {name: id for name, id in ids._asdict().items() if id is not None}


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
