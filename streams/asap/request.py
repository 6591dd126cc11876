"""The parsing of a request: from its body to an envelope, or to a fault.

The checks are rows 1 to 5, 7 and 8 of the table in ASAP guide, 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas import Problem, ShapeError, parse_ijson
from schemas.asap import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Envelope,
    derived_trace,
    validation_problems,
)
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import pointer
from streams.api.jsonrpc import VERSION
from streams.asap.faults import (
    HANDLER_NOT_FOUND,
    MALFORMED,
    ReadIds,
    RpcFault,
    validation_errors_of,
)
from streams.asap.jsonrpc import METHOD

_RULE = "malformed_envelope"
_MEMBERS = ("jsonrpc", "method", "params", "id")
_MISSING = object()


def parse_request(body: bytes) -> Mapping[str, Any]:
    """Parse the body of a request (rows 1 and 2)."""
    try:
        value = parse_ijson(body, surrogates=True)
    except ShapeError as exc:
        raise RpcFault(PARSE_ERROR, "parse_error", exc.message, MALFORMED) from exc
    if too_deep(value, limit=MAX_OPEN_NESTING):
        message = f"The text is nested more than {MAX_OPEN_NESTING} deep."
        raise RpcFault(PARSE_ERROR, "parse_error", message, MALFORMED)
    if not isinstance(value, dict):
        message = "A JSON-RPC request is a JSON object."
        kind = type(value).__name__
        raise RpcFault(INVALID_REQUEST, "invalid_request", message, MALFORMED, received_type=kind)
    return value


def read_request_id(request: Mapping[str, Any]) -> str | int | None:
    """Return the id of a request, None for an invalid one; an integer may be written as 7.0."""
    id = request.get("id")
    if isinstance(id, float) and id.is_integer():
        return int(id)
    if isinstance(id, bool) or not isinstance(id, str | int):
        return None
    return id


def read_ids(request: Mapping[str, Any]) -> ReadIds:
    """Return the ids of the envelope in a request, which may be ill-formed."""
    params = request.get("params")
    envelope = params.get("envelope") if isinstance(params, dict) else None
    if not isinstance(envelope, dict):
        return ReadIds()
    correlation_id = _text(envelope, "correlation_id") or _text(envelope, "id")
    return ReadIds(correlation_id, _text(envelope, "trace_id") or derived_trace(envelope))


def _text(envelope: Mapping[str, Any], name: str) -> str | None:
    text = envelope.get(name)
    return text if isinstance(text, str) and text else None


class Params(NamedTuple):
    """The members of `params` that are read; an absent envelope is None."""

    envelope: Any
    idempotency_key: Any

    @property
    def payload_type(self) -> str | None:
        name = self.envelope.get("payload_type") if isinstance(self.envelope, dict) else None
        return name if isinstance(name, str) else None


def params_from_request(request: Mapping[str, Any]) -> Params:
    """Check the members of a request and return its params (rows 3 to 5)."""
    if problems := _problems(request):
        message = problems[0].message
        errors = validation_errors_of(problems)
        raise RpcFault(
            INVALID_REQUEST, "invalid_request", message, MALFORMED, validation_errors=errors
        )
    params, method = request["params"], request["method"]
    if not isinstance(params, dict):
        message = "JSON-RPC 'params' must be an object"
        raise RpcFault(INVALID_PARAMS, "invalid_params", message, MALFORMED)
    if method != METHOD:
        message = f"Unknown method: {method}"
        raise RpcFault(
            METHOD_NOT_FOUND, "method_not_found", message, HANDLER_NOT_FOUND, method=method
        )
    return Params(params.get("envelope"), params.get("idempotency_key", _MISSING))


def _problems(request: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of the members of a request."""
    problems = [
        Problem(_RULE, pointer(name), f"{name} is missing.")
        for name in ("id", "method", "params")
        if name not in request
    ]
    if "id" in request and read_request_id(request) is None:
        problems.append(Problem(_RULE, "/id", "id must be a string or an integer."))
    if request.get("jsonrpc", VERSION) != VERSION:
        problems.append(Problem(_RULE, "/jsonrpc", 'jsonrpc must be "2.0".'))
    if not isinstance(request.get("method", ""), str):
        problems.append(Problem(_RULE, "/method", "method must be a string."))
    problems += [
        Problem(_RULE, pointer(name), f"{name} is no member of a request.")
        for name in request
        if name not in _MEMBERS
    ]
    return problems


def envelope_from_params(params: Params) -> tuple[Envelope, str | None]:
    """Return the envelope and the idempotency key (rows 7 and 8)."""
    if params.envelope is None:
        message = "Missing 'envelope' in params"
        raise RpcFault(INVALID_PARAMS, "missing_envelope", message, MALFORMED)
    key = None if params.idempotency_key is _MISSING else params.idempotency_key
    problems: list[Problem] = []
    envelope = None
    try:
        envelope = Envelope.model_validate(params.envelope)
    except ValidationError as exc:
        problems += validation_problems(exc)
    if params.idempotency_key is not _MISSING and not isinstance(key, str):
        message = "idempotency_key must be a string."
        problems.append(Problem(_RULE, "/idempotency_key", message))
    if envelope is None or problems:
        message = "Invalid envelope structure"
        errors = validation_errors_of(problems)
        raise RpcFault(
            INVALID_PARAMS, "invalid_envelope", message, MALFORMED, validation_errors=errors
        )
    return envelope, key
