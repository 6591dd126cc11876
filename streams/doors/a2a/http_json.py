"""The binding of A2A to HTTP and JSON: a path for each operation."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.responses import Response as HttpResponse

from schemas import ShapeError
from schemas.summit import read_json
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.operations import OPERATIONS
from streams.doors.a2a.protocol import A2A_TYPE, LAST_EVENT_ID, VERSION_NAME, Json
from streams.doors.a2a.requests import read_query
from streams.doors.a2a.responses import check_version, stream_response
from streams.doors.a2a.streaming import Binding, TaskStream
from streams.gateway.http_response import dump_json

_BINDING = Binding(lambda body: body, A2aError.to_http)
_NOT_OF_A2A = (VERSION_NAME, "after")
"""Parameters of the query that are no members of a request."""


class Target(NamedTuple):
    """The operation that a path names.  members: of the request, as the path names them."""

    operation: str
    members: Json


async def answer(
    context: Context, method: str, target: Target, body: bytes, query: str, version: str | None
) -> HttpResponse:
    """Answer a request.  version: of A2A, as the client names it.  Raises Forbidden."""
    operation = OPERATIONS[target.operation]
    try:
        check_version(version)
        descriptor = operation.message.DESCRIPTOR
        value = _read_body(body) if body else read_query(query, descriptor, _NOT_OF_A2A)
        parameters = {**value, **target.members} if isinstance(value, dict) else value
        result = await operation.answer(context, parameters)
    except A2aError as exc:
        return _respond(exc.status, exc.to_http())
    if not isinstance(result, TaskStream):
        return _respond(200, {} if result is None else result)
    if method == "GET" and LAST_EVENT_ID in context.headers and result.is_over:
        return HttpResponse(status_code=204)  # a browser's EventSource does not ask again
    return stream_response(context, result, _BINDING)


def split_verb(segment: str) -> tuple[str, str]:
    """Split the last segment of a path, percent-encoded, into an id and the verb after its colon.

    An id that ends like a verb is written with `%3A`.
    """
    encoded, colon, verb = segment.rpartition(":")
    if colon and verb in ("cancel", "subscribe"):
        return unquote(encoded), verb
    return unquote(segment), ""


def _read_body(body: bytes) -> Any:
    """Parse the body.  Raises A2aError."""
    try:
        return read_json(body)
    except ShapeError as exc:
        raise A2aError(exc.problem.rule, exc.problem.message) from exc


def _respond(status: int, body: Json) -> HttpResponse:
    headers = {"cache-control": "no-store"}
    if status == 503:
        headers["retry-after"] = "1"
    return HttpResponse(dump_json(body), status, headers, A2A_TYPE)
