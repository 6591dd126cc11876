"""Bodies, ids and queries of requests (Summit guide, 3, 6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import ShapeError, summit
from schemas.summit.calls import call_problems
from tests.unit.schemas.summit_support import CALL, rules_and_paths


@pytest.mark.parametrize(
    ("method", "params", "rule"),
    [
        ("agent.list", ..., None),
        ("tool.list", ..., None),
        ("agent.status", ..., "params.shape"),
        ("agent.schema", ..., "params.shape"),
        ("agent.list", {"role": "critic", "capability": "a:b", "limit": 500, "cursor": "x"}, None),
        ("agent.list", {"limit": 0}, "params.shape"),
        ("agent.list", {"limit": 501}, "params.shape"),
        ("agent.list", {"limit": 1.5}, "params.shape"),
        ("agent.list", {"agentId": "a"}, "params.shape"),
        ("agent.list", [], "params.shape"),
        ("tool.list", {"agentId": "a", "dialect": "mcp"}, None),
        ("tool.list", {"dialect": "MCP"}, "params.shape"),
        ("tool.list", {"agentId": "A"}, "params.agent_id"),
        ("agent.status", {}, "params.shape"),
        ("agent.status", {"runId": "r", "agentId": "a", "after": "summit.calls/0/1"}, None),
        ("agent.status", {"runId": "/"}, "params.run_id"),
        ("agent.status", {"runId": "r", "after": "x"}, "params.shape"),
        ("agent.schema", {"agentId": "a", "version": "1.0.0"}, None),
        ("agent.schema", {"agentId": "a", "version": "1.0"}, "params.shape"),
        ("agent.schema", {"version": "1.0.0"}, "params.shape"),
        ("agent.stop", {}, "rpc.method"),
    ],
)
def test_queries_have_params_too(method: str, params: Any, rule: str | None) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not ...:
        request["params"] = params
    problems = summit.check_request(request)
    assert [problem.rule for problem in problems][:1] == ([] if rule is None else [rule])
    if rule is None:
        assert rules_and_paths(summit.check_call(request)) == [("rpc.method", "/method")]
        assert rules_and_paths(summit.check_request({**request, "id": ...}))[0] == ("rpc.id", "/id")


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("", "json.parse"),
        ("{", "json.parse"),
        ("{'a': 1}", "json.parse"),
        (b'{"a": "\xff"}', "json.parse"),
        ('{"a": 1} x', "json.parse"),
        ("\ufeff{}", "json.parse"),
        ('{"a": 1, "a": 1}', "json.invalid"),
        ('{"a": "\\udc00"}', "json.invalid"),
        ('{"a": NaN}', "json.invalid"),
        ("[-Infinity]", "json.invalid"),
        ("1e400", "json.invalid"),
        ("9007199254740992", "json.invalid"),
        ('{"a": [-9007199254740992]}', "json.invalid"),
        ("1" * 5000, "json.invalid"),
        ("[" * 100_000 + "]" * 100_000, "json.invalid"),
    ],
)
def test_bodies_that_are_no_json(body: str | bytes, rule: str) -> None:
    with pytest.raises(ShapeError) as refused:
        summit.read_json(body)
    assert refused.value.rule == rule


def test_bodies_that_are() -> None:
    assert summit.read_json(b' [1e300, 9007199254740991, "\\ud83d\\ude00"] ') == [
        1e300,
        2**53 - 1,
        "\U0001f600",
    ]


@pytest.mark.parametrize(
    ("request_", "id"),
    [
        (CALL, "q-31"),
        ({"id": 0}, 0),
        ({"id": ""}, ""),
        ({"id": "x" * 257}, summit.ABSENT),
        ({"id": None}, summit.ABSENT),
        ({"id": True}, summit.ABSENT),
        ({"id": 0.5}, summit.ABSENT),
        ({"id": [1]}, summit.ABSENT),
        ({}, summit.ABSENT),
        ([], summit.ABSENT),
        ("id", summit.ABSENT),
    ],
)
def test_the_id_that_is_echoed(request_: Any, id: Any) -> None:
    assert summit.request_id(request_) is id or summit.request_id(request_) == id


def test_methods_are_checked_against_those_that_are_taken() -> None:
    assert call_problems(CALL, ("agent.cancel",))[0].rule == "rpc.method"
