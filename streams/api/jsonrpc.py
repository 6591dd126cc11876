"""The messages of JSON-RPC 2.0, for all servers and clients.

Each protocol defines its methods, its rules and their error codes (`schemas.asap`,
`schemas.summit`). Protocols also fix the order of a response's members, so a server chooses
whether the id comes last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

Json = dict[str, Any]
Id = str | int | None
VERSION: Final = "2.0"
INTERNAL_ERROR: Final = -32603
UNKNOWN_ERROR: Final = "Unknown error"


class ErrorObject(NamedTuple):
    """The member `error` of a response."""

    code: int
    message: str
    data: Any

    @classmethod
    def parse(cls, error: Any) -> Self:
        """Return what a peer sent, with defaults for what is missing or has another type."""
        members = error if isinstance(error, dict) else {}
        code, message = members.get("code"), members.get("message")
        return cls(
            code if isinstance(code, int) else INTERNAL_ERROR,
            message if isinstance(message, str) else UNKNOWN_ERROR,
            members.get("data"),
        )


class Batch(NamedTuple):
    """The requests in a body.  is_list: the body is a list, so the responses are one too."""

    is_list: bool
    requests: list[Any]

    @classmethod
    def of(cls, body: Any) -> Self:
        """Return the requests of a parsed body; an empty list has none."""
        return cls(True, body) if isinstance(body, list) else cls(False, [body])


def build_request(method: str, params: Mapping[str, Any], id: Id = None) -> Json:
    """Return a request, or a notification when there is no id."""
    request: Json = {"jsonrpc": VERSION, "method": method, "params": dict(params)}
    return request if id is None else {**request, "id": id}


def build_result(id: Id, result: Any, *, id_last: bool = False) -> Json:
    return _build_response(id, "result", result, id_last)


def build_error(id: Id, error: ErrorObject, *, id_last: bool = False) -> Json:
    """Return the response to a failed request; id: None if it could not be read."""
    return _build_response(id, "error", error._asdict(), id_last)


def _build_response(id: Id, name: str, value: Any, id_last: bool) -> Json:
    if id_last:
        return {"jsonrpc": VERSION, name: value, "id": id}
    return {"jsonrpc": VERSION, "id": id, name: value}


def error_of(response: Mapping[str, Any]) -> ErrorObject | None:
    """Return the error of a response, None for one that has a result."""
    error = response.get("error")
    return None if error is None else ErrorObject.parse(error)
