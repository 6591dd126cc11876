"""Every row of the table of outcomes (ASAP guide, 6.2), in process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastapi import FastAPI

from schemas.asap import (
    ASAPError,
    Envelope,
    HandlerNotFoundError,
    InvalidTransitionError,
    MalformedEnvelopeError,
    Manifest,
    TaskAlreadyCompletedError,
    TaskNotFoundError,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    make_envelope,
)
from streams import HandlerRegistry, create_app
from tests.unit.asap.support import (
    AGENT,
    PAYLOADS,
    PLANNER,
    Json,
    call,
    correlated,
    envelope_json,
    error,
    manifest,
    post,
)

MALFORMED = "asap:protocol/malformed_envelope"
WORKING = TaskStatus.WORKING
TASK_FAILED = "asap:execution/task_failed"
IDS = {"correlation_id": "corr_456", "trace_id": "tr-19"}
"""Of `correlated()`, which every error about it has."""


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(manifest())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"\xff\xfe",
        b'"\xc3\x28"',
        b"NaN",
        b"[1,]",
        b"{'a': 1}",
        b"[" * 100_000,
        b'{"a":1,"a":2}',
        b"\xef\xbb\xbf{}",
    ],
)
def test_1_what_is_no_json(app: FastAPI, body: bytes) -> None:
    answer = post(app, body)
    code, data = error(answer)
    assert (code, answer["id"]) == (-32700, None)
    assert (set(data), data["asap_error"]) == ({"error", "asap_error"}, MALFORMED)


@pytest.mark.parametrize(
    ("body", "kind"), [(b"[]", "list"), (b'"x"', "str"), (b"3", "int"), (b"null", "NoneType")]
)
def test_2_what_is_no_object(app: FastAPI, body: bytes, kind: str) -> None:
    answer = post(app, body)
    code, data = error(answer)
    assert (code, answer["id"]) == (-32600, None)
    assert "object" in data["error"]
    assert data == {"error": data["error"], "received_type": kind, "asap_error": MALFORMED}


GOOD = {"jsonrpc": "2.0", "method": "asap.send", "params": {"envelope": correlated()}, "id": "r"}


def without(name: str) -> Json:
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.parametrize(
    ("request_", "id", "path"),
    [
        (without("id"), None, "/id"),
        (without("method"), "r", "/method"),
        ({**without("method"), "id": 7}, 7, "/method"),
        ({**GOOD, "id": None}, None, "/id"),
        ({**GOOD, "id": True}, None, "/id"),
        ({**GOOD, "id": 1.5}, None, "/id"),
        ({**GOOD, "id": []}, None, "/id"),
        ({**GOOD, "id": {}}, None, "/id"),
        ({**GOOD, "jsonrpc": "1.0"}, "r", "/jsonrpc"),
        ({**GOOD, "jsonrpc": 2.0}, "r", "/jsonrpc"),
        ({**GOOD, "jsonrpc": None}, "r", "/jsonrpc"),
        ({**GOOD, "method": 3}, "r", "/method"),
        ({**GOOD, "method": None}, "r", "/method"),
        ({**GOOD, "auth": "x"}, "r", "/auth"),
    ],
)
def test_3_what_is_no_request(app: FastAPI, request_: Json, id: object, path: str) -> None:
    answer = post(app, request_)
    code, data = error(answer)
    assert (code, answer["id"]) == (-32600, id)
    assert set(data) == {"error", "validation_errors", "asap_error", *IDS}
    assert (data["asap_error"], data["correlation_id"]) == (MALFORMED, "corr_456")
    (problem,) = data["validation_errors"]
    assert set(problem) == {"rule", "path", "message"}
    assert problem["path"] == path


def test_3_without_params_there_is_no_correlation(app: FastAPI) -> None:
    code, data = error(post(app, without("params")))
    assert (code, set(data)) == (-32600, {"error", "validation_errors", "asap_error"})


@pytest.mark.parametrize("correlation", [None, "", 3, ["x"]])
def test_without_a_correlation_an_error_names_the_envelope(
    app: FastAPI, correlation: object
) -> None:
    of = envelope_json(correlation_id=correlation, asap_version=None)
    assert error(post(app, call(of)))[1]["correlation_id"] == of["id"]


@pytest.mark.parametrize("trace", [None, "", 3])
def test_without_a_trace_an_error_has_the_one_of_the_task(app: FastAPI, trace: object) -> None:
    of = envelope_json("TaskCancel", trace_id=trace, payload={"task_id": "t-1"})
    assert error(post(app, call({**of, "asap_version": None})))[1]["trace_id"] == "t-1"
    unread = {**of, "payload": {}, "payload_type": "acme.ping"}
    assert error(post(app, call({**unread, "asap_version": 3})))[1]["trace_id"] == of["id"]


@pytest.mark.parametrize("params", [None, [], "x", 3, True])
def test_4_params_that_are_no_object(app: FastAPI, params: object) -> None:
    answer = post(app, {**GOOD, "params": params, "id": 12})
    code, data = error(answer)
    assert (code, answer["id"]) == (-32602, 12)
    assert data == {"error": "JSON-RPC 'params' must be an object", "asap_error": MALFORMED}


@pytest.mark.parametrize("method", ["asap.Send", "asap.receive", "", "send"])
def test_5_another_method(app: FastAPI, method: str) -> None:
    answer = post(app, {**GOOD, "method": method})
    code, data = error(answer)
    assert (code, answer["id"]) == (-32601, "r")
    assert data == {
        "error": f"Unknown method: {method}",
        "method": method,
        "asap_error": "asap:transport/handler_not_found",
        **IDS,
    }


@pytest.mark.parametrize("params", [{}, {"envelope": None}])
def test_7_no_envelope(app: FastAPI, params: Json) -> None:
    code, data = error(post(app, {**GOOD, "params": params}))
    assert code == -32602
    assert data == {"error": "Missing 'envelope' in params", "asap_error": MALFORMED}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"asap_version": None}, "/asap_version"),
        ({"sender": "planner"}, "/sender"),
        ({"recipient": AGENT + "\n"}, "/recipient"),
        ({"payload": []}, "/payload"),
        ({"payload_type": 3}, "/payload_type"),
        ({"timestamp": "yesterday"}, "/timestamp"),
        ({"nonce": "x"}, "/nonce"),
        ({"trace_id": 3}, "/trace_id"),
        ({"extensions": []}, "/extensions"),
        ({"payload": {"payload_type": "TaskCancel"}}, "/payload"),
    ],
)
def test_8_an_envelope_that_is_none(app: FastAPI, changes: Json, path: str) -> None:
    answer = post(app, call({**correlated(), **changes}))
    code, data = error(answer)
    assert (code, answer["id"]) == (-32602, "req_123")
    assert data["error"] == "Invalid envelope structure"
    assert (data["asap_error"], data["correlation_id"]) == (MALFORMED, "corr_456")
    assert data["validation_errors"][0]["path"].startswith(path)


@pytest.mark.parametrize("of", ["x", 3, [], True])
def test_8_an_envelope_that_is_no_object(app: FastAPI, of: Any) -> None:
    code, data = error(post(app, call(of)))
    assert (code, data["error"]) == (-32602, "Invalid envelope structure")
    assert "correlation_id" not in data


@pytest.mark.parametrize("name", ["TaskResponse", "task.response", "McpToolResult"])
@pytest.mark.parametrize("correlation", [None, ""])
def test_8_an_answer_says_what_it_answers(app: FastAPI, name: str, correlation: object) -> None:
    of = envelope_json(name, payload={}, correlation_id=correlation)
    (problem,) = error(post(app, call(of)))[1]["validation_errors"]
    assert problem["rule"] == "missing_correlation"
    assert "must have correlation_id" in problem["message"]


@pytest.mark.parametrize("key", [None, 3, {}, []])
def test_8_an_idempotency_key_is_text(app: FastAPI, key: object) -> None:
    code, data = error(post(app, call(correlated(), idempotency_key=key)))
    assert (code, data["error"]) == (-32602, "Invalid envelope structure")
    assert data["validation_errors"][0]["path"] == "/idempotency_key"


@pytest.mark.parametrize("name", ["TaskCancel", "task.cancel", "Nonsense", "", "…"])
def test_10_nobody_handles_it(app: FastAPI, name: str) -> None:
    code, data = error(post(app, call(correlated(payload_type=name))))
    assert code == -32601
    assert data == {
        "error": f"No handler registered for payload type: {name}",
        "payload_type": name,
        "asap_error": "asap:transport/handler_not_found",
        **IDS,
    }


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {**PAYLOADS["TaskRequest"], "input": []},
        {**PAYLOADS["TaskRequest"], "more": 1},
        {**PAYLOADS["TaskRequest"], "skill_id": 3},
    ],
)
def test_11_a_payload_that_does_not_fit(app: FastAPI, payload: Json) -> None:
    code, data = error(post(app, call(correlated(payload=payload))))
    assert (code, data["error"]) == (-32602, "Invalid payload")
    assert (data["asap_error"], data["correlation_id"]) == (MALFORMED, "corr_456")
    assert all(set(each) == {"rule", "path", "message"} for each in data["validation_errors"])
    assert data["validation_errors"][0]["path"].startswith("/payload")


def handled_by(handler: Any) -> FastAPI:
    registry = HandlerRegistry()
    registry.register("TaskRequest", handler)
    return create_app(manifest(), registry)


RAISED: list[tuple[Exception, int, str]] = [
    (MalformedEnvelopeError("odd"), -32602, MALFORMED),
    (
        InvalidTransitionError("submitted", "completed", {"task_id": "t"}),
        -32602,
        "asap:protocol/invalid_state",
    ),
    (TaskNotFoundError("t"), -32602, "asap:task/not_found"),
    (TaskAlreadyCompletedError("t", "failed"), -32602, "asap:task/already_completed"),
    (HandlerNotFoundError("X"), -32601, "asap:transport/handler_not_found"),
    (ASAPError("asap:custom/thing", "no", {"n": 1}), -32603, "asap:custom/thing"),
]


@pytest.mark.parametrize(("exc", "code", "asap_error"), RAISED)
@pytest.mark.parametrize("is_async", [False, True])
def test_13_a_handler_raises_an_error_of_asap(
    exc: ASAPError, code: int, asap_error: str, is_async: bool
) -> None:
    def plain(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise exc

    async def waiting(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise exc

    answer = post(handled_by(waiting if is_async else plain), call(correlated()))
    error_code, data = error(answer)
    assert (error_code, answer["id"]) == (code, "req_123")
    assert data == {
        "error": str(exc),
        "type": type(exc).__name__,
        "details": exc.details,
        "asap_error": asap_error,
        **IDS,
    }


@pytest.mark.parametrize(
    ("exc", "text"), [(RuntimeError("the disk is full"), "the disk is full"), (KeyError(), "")]
)
def test_14_a_handler_raises_anything_else(exc: Exception, text: str) -> None:
    def failing(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise exc

    code, data = error(post(handled_by(failing), call(correlated())))
    assert code == -32603
    assert data == {
        "error": text,
        "type": type(exc).__name__,
        "asap_error": TASK_FAILED,
        **IDS,
    }


@pytest.mark.parametrize("is_async", [False, True])
def test_14_a_handler_runs_out_of_something(is_async: bool) -> None:
    def plain(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise StopIteration

    async def waiting(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise StopIteration

    code, data = error(post(handled_by(waiting if is_async else plain), call(correlated())))
    assert (code, data["type"], data["asap_error"]) == (-32603, "RuntimeError", TASK_FAILED)


def test_14_what_a_handler_waits_for_is_cancelled() -> None:
    async def waiting(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        inner = asyncio.ensure_future(asyncio.Event().wait())
        inner.cancel()
        await inner
        raise AssertionError

    code, data = error(post(handled_by(waiting), call(correlated())))
    assert (code, data["type"], data["asap_error"]) == (-32603, "CancelledError", TASK_FAILED)


@pytest.mark.parametrize("returned", [None, {}, "x"])
def test_14_a_handler_returns_no_envelope(returned: object) -> None:
    code, data = error(
        post(handled_by(lambda envelope, agent_manifest: returned), call(correlated()))
    )
    assert (code, data["asap_error"], data["type"]) == (
        -32603,
        TASK_FAILED,
        type(returned).__name__,
    )


@pytest.mark.parametrize("id", ["req_123", "", 0, -7, 2**53, 2**80])
def test_a_success_has_the_request_s_id(app: FastAPI, id: object) -> None:
    of = envelope_json()
    answer = post(app, call(of, id))
    assert answer["id"] == id
    assert set(answer["result"]) == {"envelope"}
    reply = answer["result"]["envelope"]
    assert (reply["sender"], reply["recipient"]) == (AGENT, PLANNER)
    assert (reply["correlation_id"], reply["trace_id"]) == (of["id"], "tr-19")
    assert reply["payload"]["status"] == "completed"
    assert reply["payload"]["result"] == {"echoed": {"pages": 42}}
    assert reply["payload"]["task_id"].startswith("task_")
    assert len(reply) == 10


def test_an_integer_however_written(app: FastAPI) -> None:
    assert post(app, json.dumps(call(envelope_json(), 7.0)).encode())["id"] == 7


def test_jsonrpc_may_be_left_out(app: FastAPI) -> None:
    request = call(envelope_json())
    del request["jsonrpc"]
    assert "result" in post(app, request)


def test_a_server_does_not_ask_whether_it_is_meant(app: FastAPI) -> None:
    of = envelope_json(recipient="urn:asap:agent:somebody")
    assert "result" in post(app, call(of))


@pytest.mark.parametrize(
    "text",
    [
        '{"x": "\\ud800"}',
        '{"x": 1e999}',
        '{"x": 123456789012345678901234567890}',
        '{"\\udfff": [{"a": "\\ud83d"}]}',
    ],
)
def test_odd_json_gets_an_answer(app: FastAPI, text: str) -> None:
    body = json.dumps(call(envelope_json(payload={"HERE": 1}))).replace('{"HERE": 1}', "@")
    payload = json.dumps({**PAYLOADS["TaskRequest"], "input": "@"}).replace('"@"', text)
    answer = post(app, body.replace("@", payload).encode())
    assert "result" in answer or answer["error"]["code"] in (-32602, -32603)


def test_a_handler_need_not_repeat_the_ids() -> None:
    seen = []

    def careless(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        seen.append(envelope.trace_id)
        update = TaskUpdate(task_id="own", update_type=UpdateType.PROGRESS, status=WORKING)
        return make_envelope(update, sender=AGENT, recipient=PLANNER)

    of = envelope_json(trace_id=None)
    reply = post(handled_by(careless), call(of))["result"]["envelope"]
    assert (reply["trace_id"], reply["correlation_id"], seen) == (of["id"], of["id"], [of["id"]])
