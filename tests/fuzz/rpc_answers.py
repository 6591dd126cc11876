"""What the two JSON-RPC servers may answer, whatever is posted.

Internal errors are none of it: nobody's request makes the service fail.

Source: ASAP guide, 6.2; Summit guide, 3 and 6.1.
"""

from __future__ import annotations

import json
from typing import Any

from schemas import ShapeError, parse_ijson
from schemas.asap import ERROR_MESSAGES, Envelope
from schemas.asap.rules import ASAP_ERRORS
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.summit import read_json, rules
from streams.asap.faults import HANDLER_NOT_FOUND, MALFORMED
from streams.asap.on_log.stream import CALL_TIMED_OUT
from streams.summit.rpc.errors import NAMES

Json = dict[str, Any]
TASK_TIMEOUT = "asap:execution/task_timeout"
_SURE = 500
"""Brackets: what nests deeper is read or not by how much of Python's stack is left."""
_LISTED = {"jsonrpc", "id", "method", "params", "caller", "delivery"}
_DATA = {"rule", "path", "errors", "runId", "status", "position", "poll"}
_OWN_FAULTS = (rules.SERVICE_INTERNAL.code, rules.SERVICE_UNAVAILABLE.code)
_ASAP_ERRORS: dict[int, tuple[str, ...]] = {
    -32700: (MALFORMED,),
    -32600: (MALFORMED,),
    -32601: (HANDLER_NOT_FOUND,),
    -32602: (MALFORMED, *ASAP_ERRORS.values()),
    -32603: (TASK_TIMEOUT,),
}
"""Code of JSON-RPC → codes of ASAP; of the internal errors only that nobody answered a call."""


def check_asap(body: bytes, text: bytes) -> None:
    """text: the answer to a body, of a server that wants no tokens."""
    response, body_value = _read(text), _asked(body)
    request = body_value if isinstance(body_value, dict) else {}
    _check_shape(response, _asap_id(request.get("id")))
    if "result" in response:
        assert request.get("method") == "asap.send", response
        Envelope.model_validate(response["result"]["envelope"])
        return
    error = response["error"]
    code, data = error["code"], error["data"]
    late = data.get("asap_error") == TASK_TIMEOUT
    assert error["message"] == (CALL_TIMED_OUT if late else ERROR_MESSAGES[code]), response
    assert isinstance(data["error"], str), response
    assert data["error"], response
    assert data.get("asap_error") in _ASAP_ERRORS[code], response
    assert (code == -32700) == isinstance(body_value, ShapeError), response
    if "rule" in data:
        assert ASAP_ERRORS[data["rule"]] == data["asap_error"], response
    if (correlation := _correlation(request)) is not None:
        assert repr(data["correlation_id"]) == repr(correlation), response


def _asked(body: bytes) -> Any:
    """The value posted, or why it is none."""
    try:
        value = parse_ijson(body, surrogates=True)
    except ShapeError as exc:
        return exc
    deep = too_deep(value, limit=MAX_OPEN_NESTING)
    return ShapeError("json_invalid", "", "too deep") if deep else value


def _asap_id(id: Any) -> Any:
    if isinstance(id, float) and id.is_integer():
        return int(id)
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _correlation(request: Json) -> str | None:
    params = request.get("params")
    envelope = params.get("envelope") if isinstance(params, dict) else None
    if not isinstance(envelope, dict):
        return None
    texts = (envelope.get("correlation_id"), envelope.get("id"))
    return next((text for text in texts if isinstance(text, str) and text), None)


def check_summit(body: bytes, status: int, text: bytes | None, max_requests: int) -> None:
    """text: the answer to a body, None for an empty one.  max_requests: in a batch."""
    if body.count(b"[") + body.count(b"{") > _SURE:
        _check_all(_read(text) if text else [])
        return
    try:
        request_json = read_json(body)
    except ShapeError as exc:
        request_json = exc
    several = isinstance(request_json, list) and 1 <= len(request_json) <= max_requests
    requests = [
        each for each in (request_json if several else [request_json]) if not _is_notification(each)
    ]
    if not requests:
        assert (status, text) == (204, None), text
        return
    assert status == 200
    response = _read(text or b"")
    answers = response if several else [response]
    assert len(answers) == len(requests), response
    for request, answer in zip(requests, answers, strict=True):
        _check_one(request, answer)


def _check_all(response: Any) -> None:
    """Without their ids."""
    for answer in response if isinstance(response, list) else [response]:
        _check_shape(answer, answer["id"])
        _check_outcome(answer)


def _is_notification(request: Any) -> bool:
    """Whether it is one that is not answered: an `agent.cancel` that JSON-RPC has no fault with."""
    if not isinstance(request, dict) or request.get("method") != "agent.cancel":
        return False
    return "id" not in request and request.get("jsonrpc") == "2.0" and set(request) <= _LISTED


def _check_one(request: Any, answer: Json) -> None:
    id = _summit_id(request.get("id")) if isinstance(request, dict) else None
    _check_shape(answer, id)
    assert id is not None or "error" in answer, answer
    if not (_waits(request) and _is_late(answer)):
        _check_outcome(answer)
    if isinstance(request, ShapeError):
        assert answer["error"]["data"]["rule"] == request.rule, answer


def _waits(request: Any) -> bool:
    """Whether it is a query that waits for a position, which may be one that is not written yet."""
    params = request.get("params") if isinstance(request, dict) else None
    return isinstance(params, dict) and isinstance(params.get("after"), str)


def _is_late(answer: Json) -> bool:
    error = answer.get("error") or {"message": ""}
    late = "was not seen in time" in error["message"]
    return late and error["data"] == {"rule": rules.SERVICE_UNAVAILABLE.code}


def _check_outcome(answer: Json) -> None:
    if "result" in answer:
        assert isinstance(answer["result"], dict), answer
        return
    error = answer["error"]
    code, data = error["code"], error["data"]
    assert data["rule"] not in _OWN_FAULTS, answer
    assert rules.RPC[data["rule"]] == code, answer
    assert error["message"].split(": ")[0] == NAMES[code], answer
    assert set(data) <= _DATA, answer


def _summit_id(id: Any) -> Any:
    if isinstance(id, str):
        return id if len(id) <= 256 else None
    if isinstance(id, bool) or not isinstance(id, int | float):
        return None
    return id if id == int(id) and abs(id) < 2**53 else None


def _check_shape(answer: Json, id: Any) -> None:
    """What JSON-RPC 2.0 says of any answer."""
    kind = "error" if "error" in answer else "result"
    assert set(answer) == {"jsonrpc", "id", kind}, answer
    assert answer["jsonrpc"] == "2.0", answer
    assert repr(answer["id"]) == repr(id), (answer, id)  # 1 is no True
    if kind == "error":
        assert set(answer["error"]) == {"code", "message", "data"}, answer


def _read(text: bytes) -> Any:
    """Raises ValueError for what is no JSON; Python takes words for numbers as well."""
    return json.loads(text.decode("utf-8"), parse_constant=_no_number)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
