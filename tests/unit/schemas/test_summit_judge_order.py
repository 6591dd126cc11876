"""Which rule decides on a call whose params are not the method's (Summit guide, 3, 5.2)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.summit import judge_call

INVOKE = {"agentId": "a", "runId": "R", "inputs_json": "{}", "context": None}
CANCEL = {"runId": "R", "agentId": None, "reason": None}


def rule_of(method: str, record: str, params: dict[str, Any], **more: Any) -> str | None:
    call = {"jsonrpc": "2.0", "id": 1, "caller": None, "delivery": None, **more}
    params_of = (f"headrace.summit.{record}", params)
    problem = judge_call({**call, "method": method, "params": params_of}).problem
    return None if problem is None else problem.rule


@pytest.mark.parametrize(
    ("method", "record", "params", "more", "rule"),
    [
        ("agent.invoke", "InvokeParams", INVOKE, {}, None),
        ("agent.list", "InvokeParams", INVOKE, {}, "rpc.method"),
        ("agent.list", "InvokeParams", {**INVOKE, "inputs_json": "{"}, {}, "json.invalid"),
        ("agent.cancel", "InvokeParams", INVOKE, {}, "params.shape"),
        ("agent.cancel", "InvokeParams", {**INVOKE, "inputs_json": "{"}, {}, "json.invalid"),
        ("agent.invoke", "CancelParams", CANCEL, {}, "params.shape"),
        ("agent.invoke", "CancelParams", CANCEL, {"jsonrpc": "1.0"}, "rpc.version"),
        ("agent.invoke", "CancelParams", CANCEL, {"id": None}, "rpc.id_required"),
        ("agent.invoke", "CancelParams", {**CANCEL, "runId": ""}, {}, "params.shape"),
    ],
)
def test_the_first_rule_decides(
    method: str, record: str, params: dict[str, Any], more: dict[str, Any], rule: str | None
) -> None:
    assert rule_of(method, record, params, **more) == rule
