"""The errors of A2A, each by the rule that a request breaks, in the forms of both bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.api.jsonrpc import ErrorObject
from streams.doors.a2a.protocol import VERSION, Json
from streams.doors.a2a.refusals import TYPE_PREFIX, error_info, status_body
from streams.errors import needs_extra

with needs_extra("a2a", "/a2a"):
    from a2a.utils import errors

UNAVAILABLE = "service.unavailable"
_INVALID_REQUEST = (
    *("json.invalid", "rpc.shape", "rpc.version", "rpc.id", "rpc.id_required", "rpc.batch"),
)
_INVALID_PARAMS = (
    *("a2a.shape", "a2a.role", "a2a.message_id", "a2a.parts", "a2a.context_id"),
    *("a2a.context_mismatch", "a2a.metadata", "a2a.history_length", "a2a.page_size"),
    *("a2a.page_token", "a2a.cursor", "a2a.push_url", "a2a.push_limit", "run.conflict"),
)
_KINDS: Mapping[str, type[errors.A2AError]] = {
    "json.parse": errors.JSONParseError,
    **dict.fromkeys(_INVALID_REQUEST, errors.InvalidRequestError),
    "rpc.method": errors.MethodNotFoundError,
    **dict.fromkeys(_INVALID_PARAMS, errors.InvalidParamsError),
    "run.unknown": errors.TaskNotFoundError,
    "cancel.not_caller": errors.TaskNotFoundError,
    "run.terminal": errors.TaskNotCancelableError,
    "a2a.push_off": errors.PushNotificationNotSupportedError,
    "a2a.no_turns": errors.UnsupportedOperationError,
    "a2a.task_ended": errors.UnsupportedOperationError,
    "a2a.no_extended_card": errors.UnsupportedOperationError,
    "agent.withdrawn": errors.UnsupportedOperationError,
    "a2a.content_type": errors.ContentTypeNotSupportedError,
    "a2a.version": errors.VersionNotSupportedError,
    UNAVAILABLE: errors.InternalError,
}
_OF_CALLS = ("params.", "context.", "budget.", "inputs.")
"""The rules of Summit about what a call says, which here is made of the message."""
_UNREAD = errors.ErrorMapping(400, "INVALID_ARGUMENT", "INVALID_REQUEST")
"""A2A gives a text that is no JSON a code of JSON-RPC only."""


class Violation(NamedTuple):
    """A member that breaks the rule.  field: a JSON Pointer."""

    field: str
    description: str


class A2aError(Exception):
    """A request that is answered with an error.

    rule: the code of the rule that it breaks.  path: a JSON Pointer, into the request or, where the
    log has decided, into the call that was made of it.  position: of that call.
    """

    def __init__(
        self,
        rule: str,
        detail: str,
        path: str | None = None,
        *,
        violations: Sequence[Violation] = (),
        task_id: str | None = None,
        position: str | None = None,
    ) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
        self.kind = kind_of(rule)
        self._violations = list(violations) or ([Violation(path, detail)] if path else [])
        members = {"rule": rule, "path": path, "taskId": task_id, "position": position}
        if self.kind is errors.VersionNotSupportedError:
            members["supportedVersions"] = VERSION
        self._metadata = {name: text for name, text in members.items() if text is not None}

    @property
    def message(self) -> str:
        return f"{self.kind.message}: {self}"

    @property
    def status(self) -> int:
        """Return the HTTP status of the error in the binding HTTP+JSON."""
        return 503 if self.rule == UNAVAILABLE else _mapping(self.kind).http_code

    def to_jsonrpc(self) -> ErrorObject:
        return ErrorObject(errors.JSON_RPC_ERROR_CODE_MAP[self.kind], self.message, self._details())

    def to_http(self) -> Json:
        """Return the body of the response in the binding HTTP+JSON."""
        status = "UNAVAILABLE" if self.rule == UNAVAILABLE else _mapping(self.kind).grpc_status
        return status_body(self.status, status, self.message, self._details())

    def _details(self) -> list[Json]:
        details = [error_info(_mapping(self.kind).reason, self._metadata)]
        if self.kind is errors.InvalidParamsError and self._violations:
            fields = [violation._asdict() for violation in self._violations]
            details.append({"@type": f"{TYPE_PREFIX}BadRequest", "fieldViolations": fields})
        return details


def kind_of(rule: str) -> type[errors.A2AError]:
    """Return the error that A2A has for a rule; a rule that no request breaks is a fault here."""
    if rule.startswith(_OF_CALLS):
        return errors.InvalidParamsError
    return _KINDS.get(rule, errors.InternalError)


def _mapping(kind: type[errors.A2AError]) -> errors.ErrorMapping:
    return errors.A2A_ERROR_MAPPING.get(kind, _UNREAD)


def not_found(task_id: str) -> A2aError:
    """Return the error for a task that is not there, or that the caller may not see."""
    return A2aError("run.unknown", f"there is no task {task_id}", "/id", task_id=task_id)


def refused_call(fact: Mapping[str, Any]) -> A2aError:
    """Return the error for a call that was rejected.  fact: the SummitEvent with the verdict."""
    rule = fact["rule"]
    return A2aError(
        rule,
        fact["message"].removeprefix(f"{rule}: "),
        fact["path"],
        violations=[Violation(each["path"], each["keyword"]) for each in fact["errors"]],
        task_id=fact["runId"],
        position=fact["cause"],
    )


def unavailable(detail: str, **more: Any) -> A2aError:
    """Return the error for a request whose outcome is not known."""
    return A2aError(UNAVAILABLE, f"{detail}; send again with the same messageId", **more)
