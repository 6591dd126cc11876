"""`POST /summit`: requests that are none, each by its rule (Summit guide, 3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.protocols.summit.queries.stage import Json, cancel, invoke, query, tool_call
from tests.unit.protocols.summit.routes.summit_bench import SummitBench

JSON_TYPE = {"content-type": "application/json"}


def without(request: Json, name: str) -> Json:
    return {k: v for k, v in request.items() if k != name}


def params(request: Json, **members: Any) -> Json:
    """With other params; those that are None are left out."""
    all_members = {**request["params"], **members}
    return {**request, "params": {k: v for k, v in all_members.items() if v is not None}}


@pytest.mark.parametrize(
    ("text", "code", "rule"),
    [
        ("", -32700, "json.parse"),
        ("{", -32700, "json.parse"),
        ("\xff", -32700, "json.parse"),
        ('{"a": 1, "a": 2}', -32600, "json.invalid"),
        ('{"a": 9007199254740993}', -32600, "json.invalid"),
        ("[]", -32600, "rpc.batch"),
        (json.dumps([4] * 101), -32600, "rpc.batch"),
        ("null", -32600, "rpc.shape"),
        ('"agent.list"', -32600, "rpc.shape"),
    ],
)
def test_bodies(summit: SummitBench, text: str, code: int, rule: str) -> None:
    body = text.encode("latin-1")
    answer = summit.ask("POST", "/summit", content=body, headers=JSON_TYPE)
    assert answer.status_code == 200
    response_json = answer.json()
    assert (response_json["id"], response_json["error"]["code"]) == (None, code)
    assert response_json["error"]["data"]["rule"] == rule


@pytest.mark.parametrize(
    ("request_", "code", "rule", "id"),
    [
        ({**invoke(), "extra": 1}, -32600, "rpc.shape", "q-31"),
        ({**invoke(), "caller": ""}, -32600, "caller.value", "q-31"),
        ({**invoke(), "jsonrpc": "1.0"}, -32600, "rpc.version", "q-31"),
        (without(invoke(), "jsonrpc"), -32600, "rpc.version", "q-31"),
        ({**invoke(), "id": None}, -32600, "rpc.id", None),
        ({**invoke(), "id": 1.5}, -32600, "rpc.id", None),
        ({**invoke(), "id": [1]}, -32600, "rpc.id", None),
        ({**invoke(), "id": "x" * 257}, -32600, "rpc.id", None),
        (without(query("agent.list"), "id"), -32600, "rpc.id_required", None),
        ({**invoke(), "method": "agent.sing"}, -32601, "rpc.method", "q-31"),
        (without(invoke(), "params"), -32602, "params.shape", "q-31"),
        ({**invoke(), "params": []}, -32602, "params.shape", "q-31"),
        (params(invoke(), inputs=None), -32602, "params.shape", "q-31"),
        (params(invoke(), depth=2), -32602, "params.shape", "q-31"),
        (params(invoke(), delivery={}), -32602, "params.shape", "q-31"),
        (params(invoke(), agentId="Word"), -32602, "params.agent_id", "q-31"),
        (params(invoke(), runId="-"), -32602, "params.run_id", "q-31"),
        (params(invoke(), inputs={"text": "x" * 262_144}), -32602, "params.size", "q-31"),
        (params(invoke(), context={"traceId": ""}), -32602, "context.trace_id", "q-31"),
        (params(invoke(), context={"parentRunId": "run-7f2"}), -32602, "context.parent", "q-31"),
        (params(invoke(), context={"x": "x" * 16_384}), -32602, "context.size", "q-31"),
        (params(invoke(), context={"budget": {"usd": -1}}), -32602, "budget.value", "q-31"),
        (params(invoke(), context={"budget": {"eur": 1}}), -32602, "budget.key", "q-31"),
        (params(tool_call(), toolCall={"id": "1"}), -32602, "params.shape", 7),
        (
            params(tool_call(), toolCall={"id": "a b", "name": "x", "arguments": {}}),
            -32602,
            "params.tool_call",
            7,
        ),
        (params(cancel(), reason=""), -32602, "params.reason", "c-1"),
        (query("agent.status"), -32602, "params.shape", 1),
        (query("agent.schema"), -32602, "params.shape", 1),
        (query("agent.list", limit=501), -32602, "params.shape", 1),
        (query("agent.list", limit="5"), -32602, "params.shape", 1),
        (query("tool.list", dialect="xml"), -32602, "params.shape", 1),
        (query("agent.status", runId="x", after="here"), -32602, "params.shape", 1),
        (query("agent.list", cursor="x"), -32602, "params.shape", 1),
        (query("agent.status", agentId="nobody"), -32004, "agent.unknown", 1),
        (query("agent.schema", agentId="nobody"), -32004, "agent.unknown", 1),
        (query("agent.status", runId="none"), -32002, "run.unknown", 1),
    ],
)
def test_requests(summit: SummitBench, request_: Any, code: int, rule: str, id: Any) -> None:
    body = summit.call(request_)
    assert body["jsonrpc"] == "2.0"
    assert (body["error"]["code"], body["error"]["data"]["rule"]) == (code, rule)
    assert (body["id"], "result" in body) == (id, False)
    assert not summit.bench.records("summit.calls")


def test_the_name_of_the_code_begins_the_message(summit: SummitBench) -> None:
    for body, name in (
        ({**invoke(), "jsonrpc": "1.0"}, "Invalid Request: "),
        ({**invoke(), "method": "x"}, "Method not found: "),
        (params(invoke(), runId="-"), "Invalid params: "),
    ):
        assert summit.error(body)["message"].startswith(name)
    error = summit.error(params(invoke(), runId="-"))
    assert error["data"]["path"] == "/params/runId"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-ndjson", "application/yaml"])
def test_another_content_type_is_refused(summit: SummitBench, kind: str) -> None:
    answer = summit.ask("POST", "/summit", content=b"{}", headers={"content-type": kind})
    assert (answer.status_code, answer.json()["rule"]) == (415, "media_type")


def test_a_body_above_two_mebibytes_is_refused(summit: SummitBench) -> None:
    body = b'"' + b"x" * (2 << 20) + b'"'
    answer = summit.ask("POST", "/summit", content=body, headers=JSON_TYPE)
    assert (answer.status_code, answer.json()["rule"]) == (413, "too_large")
    whole = body[2:]
    assert len(whole) == 2 << 20
    assert summit.ask("POST", "/summit", content=whole, headers=JSON_TYPE).status_code == 200


def test_other_methods_of_http_are_refused(summit: SummitBench) -> None:
    answer = summit.ask("GET", "/summit")
    assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")


def test_positions_that_cannot_be_seen(summit: SummitBench) -> None:
    object.__setattr__(summit.settings, "gateway_wait_s", 0)
    request = query("agent.list")
    assert summit.post(request, query="?after=x").status_code == 422
    assert summit.post(request, query="?after=summit.events/0/1").status_code == 422
    assert summit.post(request, query="?before=1").status_code == 422
    late = summit.post(request, query="?after=summit.calls/0/99")
    assert (late.status_code, late.json()["rule"]) == (504, "not_seen_in_time")
    error = summit.error(query("agent.status", runId="x", after="summit.calls/0/99"))
    assert (error["code"], error["data"]["rule"]) == (-32603, "service.unavailable")
    assert not summit.bench.records("summit.calls")


def test_the_largest_batch(summit: SummitBench) -> None:
    responses = summit.call([{**query("agent.list"), "id": n} for n in range(100)])
    assert [each["id"] for each in responses] == list(range(100))
