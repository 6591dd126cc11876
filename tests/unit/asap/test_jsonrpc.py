"""The shapes of JSON-RPC (ASAP guide, 6.2)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from streams import JsonRpcError, JsonRpcErrorResponse, JsonRpcRequest, JsonRpcResponse
from streams.asap.jsonrpc import dump_json

REQUEST: dict[str, Any] = {"method": "asap.send", "params": {"envelope": {}}, "id": "req-1"}


def test_a_request() -> None:
    request = JsonRpcRequest(**REQUEST)
    assert request.model_dump() == {"jsonrpc": "2.0", **REQUEST}


@pytest.mark.parametrize("id", [None, True, 1.5, [], {}])
@pytest.mark.parametrize("model", [JsonRpcRequest, JsonRpcResponse])
def test_an_id_is_text_or_an_integer(model: type[BaseModel], id: object) -> None:
    more = {"method": "m", "params": {}} if model is JsonRpcRequest else {"result": {}}
    for good in ("x", 7):
        assert model.model_validate({**more, "id": good}).model_dump()["id"] == good
    with pytest.raises(ValidationError):
        model.model_validate({**more, "id": id})


def test_nothing_else_is_allowed_and_nothing_changes() -> None:
    with pytest.raises(ValidationError):
        JsonRpcRequest(**{**REQUEST, "more": 1})
    with pytest.raises(ValidationError):
        JsonRpcRequest(**{**REQUEST, "jsonrpc": "1.0"})
    request: Any = JsonRpcRequest(**REQUEST)
    with pytest.raises(ValidationError, match="frozen"):
        request.method = "other"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32700, "Parse error"),
        (-32600, "Invalid request"),
        (-32601, "Method not found"),
        (-32602, "Invalid params"),
        (-32603, "Internal error"),
        (-32000, "Unknown error"),
        (0, "Unknown error"),
    ],
)
def test_the_message_of_a_code(code: int, message: str) -> None:
    assert JsonRpcError.from_code(code) == JsonRpcError(code=code, message=message, data=None)
    assert JsonRpcError.from_code(code, {"n": 1}).data == {"n": 1}


def test_an_error_may_have_no_id() -> None:
    response = JsonRpcErrorResponse(error=JsonRpcError.from_code(-32700), id=None)
    assert response.model_dump() == {
        "jsonrpc": "2.0",
        "error": {"code": -32700, "message": "Parse error", "data": None},
        "id": None,
    }


def test_a_number_that_is_none_is_null_beside_a_lone_surrogate() -> None:
    """As without one: the two are written in different ways."""
    value = {"text": "\ud800", "numbers": [math.inf, -math.inf, math.nan, 1.5, 10**30]}
    parsed = json.loads(dump_json(value), parse_constant=pytest.fail)
    assert parsed == {"text": "\ud800", "numbers": [None, None, None, 1.5, 10**30]}
    assert json.loads(dump_json({"a": math.inf})) == {"a": None}
