"""The JSON-RPC 2.0 shapes that carry envelopes over HTTP (ASAP guide, 6.2)."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import orjson
from pydantic import StrictInt, StrictStr

from schemas.asap import (
    ERROR_MESSAGES,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ASAPBaseModel,
)
from streams.api.jsonrpc import UNKNOWN_ERROR

METHOD = "asap.send"
PATH = "/asap"
METRICS_PATH = "/asap/metrics"
MANIFEST_PATH = "/.well-known/asap/manifest.json"
Id = StrictStr | StrictInt


def dump_json(value: Any) -> bytes:
    """Return a value as JSON text; types without a JSON form are written as their text."""
    try:
        return orjson.dumps(value, default=str)
    except TypeError:  # a lone surrogate, or an integer of more than 64 bits
        return json.dumps(_finite(value), default=str).encode()


def _finite(value: Any) -> Any:
    """Replace the numbers without a JSON form by null, as orjson does."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


class JsonRpcRequest(ASAPBaseModel):
    """A request.  params: `envelope`, and `idempotency_key` if the request may be repeated."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: dict[str, Any]
    id: Id


class JsonRpcResponse(ASAPBaseModel):
    """A response.  result: `envelope`; on the log `verdict`, `task_id` and `position` as well."""

    jsonrpc: Literal["2.0"] = "2.0"
    result: dict[str, Any]
    id: Id


class JsonRpcError(ASAPBaseModel):
    code: int
    message: str
    data: dict[str, Any] | None = None

    @classmethod
    def from_code(cls, code: int, data: dict[str, Any] | None = None) -> JsonRpcError:
        """Return an error with the fixed message of its code."""
        return cls(code=code, message=ERROR_MESSAGES.get(code, UNKNOWN_ERROR), data=data)


class JsonRpcErrorResponse(ASAPBaseModel):
    """An error response.  id: null when the request's id could not be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    error: JsonRpcError
    id: Id | None


__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MANIFEST_PATH",
    "METHOD",
    "METHOD_NOT_FOUND",
    "METRICS_PATH",
    "PARSE_ERROR",
    "PATH",
    "UNKNOWN_ERROR",
    "Id",
    "JsonRpcError",
    "JsonRpcErrorResponse",
    "JsonRpcRequest",
    "JsonRpcResponse",
    "dump_json",
]
