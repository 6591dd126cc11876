"""The errors of A2A by the rules that requests break, in the forms of both bindings."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.client.transports.rest import _parse_rest_error
from a2a.utils import errors as sdk

from streams.api.problems import problem
from streams.doors.a2a.errors import A2aError, Violation, refused_call
from streams.doors.a2a.refusals import shape_refusal

ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
TABLE: list[tuple[str, int, int]] = [
    ("json.parse", -32700, 400),
    *((rule, -32600, 400) for rule in ("json.invalid", "rpc.shape", "rpc.version", "rpc.id")),
    *((rule, -32600, 400) for rule in ("rpc.id_required", "rpc.batch")),
    ("rpc.method", -32601, 404),
    *((rule, -32602, 400) for rule in ("a2a.shape", "a2a.role", "a2a.message_id", "a2a.parts")),
    *((rule, -32602, 400) for rule in ("a2a.context_id", "a2a.context_mismatch")),
    *((rule, -32602, 400) for rule in ("a2a.metadata", "a2a.history_length", "a2a.page_size")),
    *((rule, -32602, 400) for rule in ("a2a.page_token", "a2a.cursor", "a2a.push_url")),
    *((rule, -32602, 400) for rule in ("a2a.push_limit", "run.conflict", "params.size")),
    *((rule, -32602, 400) for rule in ("context.size", "budget.key", "inputs.schema")),
    ("run.unknown", -32001, 404),
    ("cancel.not_caller", -32001, 404),
    ("run.terminal", -32002, 400),
    ("a2a.push_off", -32003, 400),
    *((rule, -32004, 400) for rule in ("a2a.no_turns", "a2a.task_ended", "agent.withdrawn")),
    ("a2a.no_extended_card", -32004, 400),
    ("a2a.content_type", -32005, 400),
    ("a2a.version", -32009, 400),
    ("service.unavailable", -32603, 503),
]


@pytest.mark.parametrize(("rule", "code", "status"), TABLE)
def test_each_rule_has_its_error(rule: str, code: int, status: int) -> None:
    """Check that a rule decides the code of JSON-RPC and the status of HTTP, and is named."""
    error = A2aError(rule, "it is so")
    assert error.to_jsonrpc().code == code
    body = error.to_http()["error"]
    assert (error.status, body["code"]) == (status, status)
    for details in (error.to_jsonrpc().data, body["details"]):
        assert details[0]["@type"] == ERROR_INFO
        assert details[0]["metadata"]["rule"] == rule
    assert error.message.endswith(f"{rule}: it is so")


@pytest.mark.parametrize(("rule", "code", "status"), TABLE)
def test_client_tells_errors_apart(rule: str, code: int, status: int) -> None:
    """Check that the official client raises the class that JSON-RPC's code has, over HTTP too."""
    raised: Any = _parse_rest_error(A2aError(rule, "it is so").to_http(), "")
    kinds = {number: kind for kind, number in sdk.JSON_RPC_ERROR_CODE_MAP.items()}
    expected = sdk.InvalidRequestError if rule == "json.parse" else kinds[code]
    assert type(raised) is expected


def test_refused_call_names_what_it_breaks() -> None:
    """Check that the fact of a refusal becomes an error with path, position and violations."""
    fact = {
        "rule": "inputs.schema",
        "message": "inputs.schema: /params/inputs/text: required",
        "path": "/params/inputs/text",
        "errors": [{"path": "/params/inputs/text", "keyword": "required"}],
        "runId": "r-1",
        "cause": "summit.calls/0/7",
    }
    error = refused_call(fact).to_jsonrpc()
    assert error.message == "Invalid params: inputs.schema: /params/inputs/text: required"
    info, request = error.data
    assert info["metadata"] == {
        "rule": "inputs.schema",
        "path": "/params/inputs/text",
        "taskId": "r-1",
        "position": "summit.calls/0/7",
    }
    violation = {"field": "/params/inputs/text", "description": "required"}
    assert request == {"@type": BAD_REQUEST, "fieldViolations": [violation]}


def test_version_error_says_what_is_supported() -> None:
    """Check that a client of another version learns which one is served."""
    (info,) = A2aError("a2a.version", "it is 1.0").to_jsonrpc().data
    assert info["metadata"]["supportedVersions"] == "1.0"


def test_violations_are_of_invalid_parameters_only() -> None:
    """Other errors have no violations, even where a path is known."""
    violations = [Violation("/id", "none")]
    assert len(A2aError("run.unknown", "none", violations=violations).to_jsonrpc().data) == 1


def test_refusal_of_the_gateway_has_the_form_of_its_path() -> None:
    """Check that a problem becomes google.rpc.Status under /a2a/, and stays as it is elsewhere."""
    refused = problem(403, "the token has not the role reader", "role_missing")
    shaped = shape_refusal("/a2a/word-stats/tasks", refused)
    error = shaped.body["error"]
    assert (error["code"], error["status"]) == (403, "PERMISSION_DENIED")
    assert error["details"][0]["metadata"] == {"rule": "role_missing"}
    assert shape_refusal("/v1/a2a/agents", refused) is refused
