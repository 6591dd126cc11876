"""The binding of A2A to JSON-RPC 2.0: one request a body, HTTP 200 with any answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response as HttpResponse

from schemas import ShapeError
from schemas.summit import read_json
from schemas.summit.checker import is_integer
from streams.api.jsonrpc import VERSION as JSONRPC_VERSION
from streams.api.jsonrpc import Id, build_error, build_result
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.operations import OPERATIONS, Operation
from streams.doors.a2a.protocol import Json
from streams.doors.a2a.responses import check_version, stream_response
from streams.doors.a2a.streaming import Binding, TaskStream
from streams.gateway.http_response import dump_json, make_text_response


class Request(NamedTuple):
    """A request of JSON-RPC whose envelope is valid."""

    id: Id
    operation: Operation
    parameters: Any


async def answer(context: Context, body: bytes, version: str | None) -> HttpResponse:
    """Answer the body of a request.  version: of A2A, as the client names it.  Raises Forbidden."""
    request_id: Id = None
    try:
        value = _read_envelope(body)
        request_id = _read_id(value)
        check_version(version)
        request = _read_request(value, request_id)
        result = await request.operation.answer(context, request.parameters)
    except A2aError as exc:
        return _respond(build_error(request_id, exc.to_jsonrpc()))
    if isinstance(result, TaskStream):
        return stream_response(context, result, _binding(request_id))
    return _respond(build_result(request_id, result))


def _binding(request_id: Id) -> Binding:
    return Binding(
        lambda body: build_result(request_id, body),
        lambda error: build_error(request_id, error.to_jsonrpc()),
    )


def _read_envelope(body: bytes) -> Json:
    """Parse the body to an object.  Raises A2aError."""
    try:
        value = read_json(body)
    except ShapeError as exc:
        raise A2aError(exc.problem.rule, exc.problem.message) from exc
    if isinstance(value, list):
        raise A2aError("rpc.batch", "A2A has no batches")
    if not isinstance(value, dict):
        raise A2aError("rpc.shape", "the request is an object")
    return value


def _read_id(value: Json) -> Id:
    """Return the id of a request.  Raises A2aError for a request without one that is usable."""
    request_id = value.get("id")
    if "id" not in value:
        raise A2aError("rpc.id_required", "the request has no id", "/id")
    if not isinstance(request_id, str) and not is_integer(request_id):
        raise A2aError("rpc.id", "id is a string or a whole number", "/id")
    return request_id if isinstance(request_id, str) else int(request_id)


def _read_request(value: Json, request_id: Id) -> Request:
    """Return the request of an envelope.  Raises A2aError."""
    if value.get("jsonrpc") != JSONRPC_VERSION:
        raise A2aError("rpc.version", f"jsonrpc is {JSONRPC_VERSION}", "/jsonrpc")
    operation = OPERATIONS.get(str(value.get("method")))
    if operation is None:
        raise A2aError("rpc.method", "A2A has no such method", "/method")
    parameters = value.get("params")
    return Request(request_id, operation, {} if parameters is None else parameters)


def _respond(body: Json) -> HttpResponse:
    return make_text_response(200, dump_json(body))
