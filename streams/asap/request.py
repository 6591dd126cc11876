"""From the body of a request to an envelope, or the fault that the sender is told of.

The checks are rows 1 to 5, 7 and 8 of the table in asap spec 6.2.
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
    validation_problems,
)
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import pointer
from streams.api.jsonrpc import VERSION
from streams.asap.faults import MALFORMED, RpcFault, listed
from streams.asap.jsonrpc import METHOD

_RULE = "malformed_envelope"
_MEMBERS = ("jsonrpc", "method", "params", "id")
_MISSING = object()


def parsed(body: bytes) -> Mapping[str, Any]:
    """Rows 1 and 2."""
    try:
        value = parse_ijson(body, surrogates=True)
    except ShapeError as exc:
        raise RpcFault(PARSE_ERROR, "parse_error", exc.message) from exc
    if too_deep(value, limit=MAX_OPEN_NESTING):
        message = f"The text is nested more than {MAX_OPEN_NESTING} deep."
        raise RpcFault(PARSE_ERROR, "parse_error", message)
    if not isinstance(value, dict):
        message = "A JSON-RPC request is a JSON object."
        kind = type(value).__name__
        raise RpcFault(INVALID_REQUEST, "invalid_request", message, MALFORMED, received_type=kind)
    return value


def id_of(request: Mapping[str, Any]) -> str | int | None:
    """None for an id that is none; an integer may be written with a point, as 7.0."""
    found = request.get("id")
    if isinstance(found, float) and found.is_integer():
        return int(found)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return found


def correlation_of(request: Mapping[str, Any]) -> str | None:
    """Of the envelope, as far as there is one."""
    params = request.get("params")
    envelope = params.get("envelope") if isinstance(params, dict) else None
    found = envelope.get("correlation_id") if isinstance(envelope, dict) else None
    return found if isinstance(found, str) and found else None


class Params(NamedTuple):
    """The members that count; envelope: None when it is absent."""

    envelope: Any
    idempotency_key: Any

    @property
    def payload_type(self) -> str | None:
        found = self.envelope.get("payload_type") if isinstance(self.envelope, dict) else None
        return found if isinstance(found, str) else None


def params_of(request: Mapping[str, Any]) -> Params:
    """Rows 3 to 5."""
    if problems := _problems(request):
        message = problems[0].message
        found = listed(problems)
        raise RpcFault(
            INVALID_REQUEST, "invalid_request", message, MALFORMED, validation_errors=found
        )
    params, method = request["params"], request["method"]
    if not isinstance(params, dict):
        message = "JSON-RPC 'params' must be an object"
        raise RpcFault(INVALID_PARAMS, "invalid_params", message, MALFORMED)
    if method != METHOD:
        message = f"Unknown method: {method}"
        raise RpcFault(METHOD_NOT_FOUND, "method_not_found", message, method=method)
    return Params(params.get("envelope"), params.get("idempotency_key", _MISSING))


def _problems(request: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the members of a request."""
    found = [
        Problem(_RULE, pointer(name), f"{name} is missing.")
        for name in ("id", "method", "params")
        if name not in request
    ]
    if "id" in request and id_of(request) is None:
        found.append(Problem(_RULE, "/id", "id must be a string or an integer."))
    if request.get("jsonrpc", VERSION) != VERSION:
        found.append(Problem(_RULE, "/jsonrpc", 'jsonrpc must be "2.0".'))
    if not isinstance(request.get("method", ""), str):
        found.append(Problem(_RULE, "/method", "method must be a string."))
    found += [
        Problem(_RULE, pointer(name), f"{name} is no member of a request.")
        for name in request
        if name not in _MEMBERS
    ]
    return found


def envelope_of(params: Params) -> tuple[Envelope, str | None]:
    """Rows 7 and 8: the envelope and the idempotency key."""
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
        found = listed(problems)
        raise RpcFault(
            INVALID_PARAMS, "invalid_envelope", message, MALFORMED, validation_errors=found
        )
    return envelope, key
