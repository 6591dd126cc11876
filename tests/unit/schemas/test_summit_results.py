"""RunResult, ToolResult and the errors in them (Summit guide, 2.2, 2.5, 3)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import summit
from schemas.summit import ABSENT, rules
from tests.unit.schemas import examples

REPLY = examples.valid("summit/replies")["result"]
SEED = examples.valid("summit/replies")["seed"]
RUN: dict[str, Any] = {
    "runId": "run-7f2",
    "kind": "invoke",
    "state": "completed",
    "toolCallId": None,
    "createdAt": "2026-03-02T09:00:00.000Z",
    "finishedAt": "2026-03-02T09:00:00.412Z",
    "metrics": REPLY["metrics"],
    "provenance": REPLY["provenance"],
    "verification": None,
    "error": None,
}
TOOL_RUN = {**RUN, "kind": "tool", "toolCallId": "call/1"}


def test_the_worked_example() -> None:
    assert summit.call_result(RUN, REPLY["output"]) == {
        "status": "completed",
        "output": {"words": 6, "top": ["be", "to", "not"]},
        "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
        "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:00.410Z"},
    }


def test_the_seeds_response_with_its_verification() -> None:
    row = {
        **RUN,
        "metrics": SEED["metrics"],
        "provenance": SEED["provenance"],
        "verification": summit.row_verification(SEED["verification"]),
    }
    names = ("status", "output", "metrics", "provenance", "verification")
    assert summit.call_result(row, SEED["output"]) == {name: SEED[name] for name in names}


def test_the_effective_status_goes_out() -> None:
    claimed = {"status": "passed", "checks": [{"name": "sources", "passed": False}]}
    row = {**RUN, "verification": summit.row_verification(claimed)}
    verification = summit.run_result(row, {})["verification"]
    assert verification == {"status": "failed", "checks": claimed["checks"]}


def test_without_latency_it_is_the_time_between_the_records() -> None:
    row = {**RUN, "metrics": {"tokens": 1, "cost_usd": 0.5}}
    metrics = summit.run_result(row, {})["metrics"]
    assert metrics == {"tokens": 1, "cost_usd": 0.5, "latency_ms": 412}


def test_without_provenance_nobody_knows() -> None:
    row = {**RUN, "state": "failed", "provenance": None, "error": summit.run_error("run.timeout")}
    assert summit.call_result(row) == {
        "status": "failed",
        "metrics": {"tokens": 0, "cost_usd": 0, "latency_ms": 3},
        "provenance": {"model": "unknown", "timestamp": "2026-03-02T09:00:00.412Z"},
        "error": {
            "code": -32012,
            "message": f"run.timeout: {rules.RUN_TIMEOUT.meaning}",
            "data": {"rule": "run.timeout"},
        },
    }


@pytest.mark.parametrize("state", ["failed", "cancelled", "budget_exceeded"])
def test_another_end_has_an_error_and_no_output(state: str) -> None:
    error = summit.run_error("metrics.value", path="/metrics/tokens")
    verification = summit.row_verification({"status": "passed"})
    row = {**RUN, "state": state, "error": error, "verification": verification}
    result = summit.call_result(row, {"withheld": True})
    assert list(result) == ["status", "metrics", "provenance", "error"]
    assert (result["status"], result["error"]) == (state, error)
    tool = {**row, "kind": "tool", "toolCallId": "call/1"}
    assert summit.call_result(tool, "x") == {"id": "call/1", "error": error}


@pytest.mark.parametrize("output", [None, "to-be", 0, [], {"a": None}])
def test_a_tool_result_has_any_output(output: Any) -> None:
    assert summit.call_result(TOOL_RUN, output) == {"id": "call/1", "output": output}


CODES = {
    **dict.fromkeys(("output.value", "output.schema"), -32010),
    **dict.fromkeys(("metrics.missing", "metrics.value", "provenance.missing"), -32011),
    **dict.fromkeys(("provenance.value", "verification.value", "status.value"), -32011),
    **dict.fromkeys(("error.value", "budget.none"), -32011),
    "run.timeout": -32012,
    **dict.fromkeys(("budget.usd", "budget.tokens", "budget.agent_stop", "budget.seconds"), -32013),
    **dict.fromkeys(("budget.tree_usd", "budget.tree_tokens", "budget.tree_size"), -32013),
    "budget.tree": -32013,
    "cancel.accepted": -32014,
}


def test_each_rule_that_ends_a_run_has_its_code() -> None:
    assert CODES.keys() == {*rules.ENDS, "cancel.accepted"}
    meanings = {rule.code: rule.meaning for rule in rules.ALL}
    for rule, code in CODES.items():
        error = summit.run_error(rule)
        assert error == {
            "code": code,
            "message": f"{rule}: {meanings[rule]}",
            "data": {"rule": rule},
        }
        assert summit.RunError.from_json(error).to_json() == error


def test_an_error_says_where_and_what_the_agent_said() -> None:
    errors = [{"path": "/output/words", "keyword": "type"}]
    agent_error = {"code": 7, "message": "no"}
    error = summit.run_error(
        "output.schema", path="/output", errors=errors, agent_error=agent_error
    )
    assert error == {
        "code": -32010,
        "message": "output.schema: /output/words: type",
        "data": {
            "rule": "output.schema",
            "path": "/output",
            "errors": errors,
            "agentError": agent_error,
        },
    }


def test_absent_is_no_output() -> None:
    assert summit.ToolResult.from_json({"id": "x"}).output is ABSENT
