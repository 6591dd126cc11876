"""The bounds of a policy on the budgets of calls: at the edges, on the log, and in `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.decimals import dec
from schemas.summit import check_call, check_request
from schemas.summit.caps import BudgetCaps
from streams.replay.violations import ViolationKind
from streams.verify.run import verify
from streams.views.values import json_of
from tests.unit.protocols.summit.processor.support import Bench, Json, cancel, invoke, tool_call
from tests.unit.protocols.summit.queries import stage
from tests.unit.protocols.summit.routes.summit_bench import CALLS, summit_bench
from tests.unit.views.bench import Bench as ViewBench
from topology.summit import SUMMIT_EVENTS

USD, TOKENS, SECONDS = (f"/params/context/budget/{name}" for name in ("usd", "tokens", "seconds"))
BUDGET = "/params/context/budget"
ALL = BudgetCaps(True, Decimal("2.5"), Decimal(100), Decimal(60))


def problems(budget: Json | None, caps: BudgetCaps) -> list[tuple[str, str]]:
    context: Json = {} if budget is None else {"context": {"budget": budget}}
    return [(problem.rule, problem.path) for problem in check_call(invoke(**context), caps)]


@pytest.mark.parametrize(
    ("budget", "caps", "expected"),
    [
        (None, BudgetCaps(True), [("budget.missing", BUDGET)]),
        ({}, BudgetCaps(True), [("budget.missing", BUDGET)]),
        ({"seconds": 1}, BudgetCaps(True), []),
        (None, BudgetCaps(usd=Decimal(1)), [("budget.cap", USD)]),
        ({"tokens": 1}, BudgetCaps(usd=Decimal(1)), [("budget.cap", USD)]),
        ({"usd": 2.5, "tokens": 100, "seconds": 60}, ALL, []),
        (
            {"usd": 2.51, "tokens": 101, "seconds": 60.001},
            ALL,
            [("budget.cap", USD), ("budget.cap", TOKENS), ("budget.cap", SECONDS)],
        ),
        ({"usd": 0}, BudgetCaps(usd=Decimal(0)), []),
        (
            None,
            ALL,
            [("budget.missing", BUDGET), *(("budget.cap", p) for p in (USD, TOKENS, SECONDS))],
        ),
        ({"usd": -1}, BudgetCaps(usd=Decimal(1)), [("budget.value", USD)]),
        ({"usd": "9"}, BudgetCaps(usd=Decimal(1)), [("budget.value", USD)]),
        (
            {"usd": 2, "eur": 1},
            BudgetCaps(usd=Decimal(1)),
            [("budget.key", f"{BUDGET}/eur"), ("budget.cap", USD)],
        ),
        ([], BudgetCaps(True), [("params.shape", BUDGET)]),
    ],
)
def test_a_budget_is_held_to_the_caps(
    budget: Any, caps: BudgetCaps, expected: list[tuple[str, str]]
) -> None:
    assert problems(budget, caps) == expected


@given(
    st.floats(0, 1_000_000, allow_nan=False),
    st.decimals(0, 1_000_000, places=6, allow_nan=False),
)
def test_amounts_are_compared_as_the_decimals_that_they_are_spelled_as(
    usd: float, cap: Decimal
) -> None:
    rules = [rule for rule, _ in problems({"usd": usd}, BudgetCaps(usd=cap))]
    assert rules == (["budget.cap"] if dec(usd) > cap else [])


def test_only_calls_that_make_a_run_are_held_to_the_caps() -> None:
    status = {"jsonrpc": "2.0", "id": 1, "method": "agent.status", "params": {"runId": "R"}}
    for request in (cancel(), status):
        assert check_request(request, ALL) == []
    assert check_request(tool_call(), ALL)[0].rule == "budget.missing"


def test_the_processor_refuses_what_no_edge_has_seen_and_the_run_id_stays_free() -> None:
    bench = Bench(summit_budget_required=True, summit_max_usd=Decimal(1))
    missing = bench.invoke()
    assert (missing["verdict"], missing["rule"]) == ("rejected", "budget.missing")
    above = bench.invoke(context={"budget": {"usd": 1.5}})
    assert (above["rule"], above["fault"]) == ("budget.cap", "sender")
    assert above["message"].endswith("usd must be at most 1 by the policy.")
    assert bench.invoke(context={"budget": {"usd": 1}})["rule"] == "call.accepted"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ViewBench]:
    """Complete a run whose critic the service calls, where budgets are required."""
    bench = ViewBench(tmp_path, summit_budget_required=True, summit_max_usd=Decimal("0.5"))
    agent = stage.manifest(version="1.3.0")
    agent["metadata"]["judge"] = {"agentId": "fact-check"}
    schemas = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    critic = stage.manifest("fact-check", role="critic", interface=schemas, tools=[])
    stage.registered(bench, agent, critic)
    bench.send(stage.CALLS, stage.invoke())
    bench.send(stage.REPLIES, stage.result())
    yield bench
    bench.close()


def rules_of(bench: ViewBench) -> list[str]:
    records = bench.records(SUMMIT_EVENTS.name)
    return [json_of(SUMMIT_EVENTS, record.value or b"")["rule"] for record in records]


def test_a_critic_that_the_service_calls_is_not_held_to_the_caps(
    bench: ViewBench, tmp_path: Path
) -> None:
    assert rules_of(bench).count("call.accepted") == 2
    assert verify(bench.log, bench.settings, tmp_path / "verify").clean


def test_facts_are_derived_by_the_caps_that_decided_them(bench: ViewBench, tmp_path: Path) -> None:
    settings = bench.settings
    bench.settings = replace(settings, summit_max_usd=None)  # those of an edge with other bounds
    bench.send(stage.CALLS, stage.invoke("run-2", budget={"usd": 0.75}))
    assert rules_of(bench)[-1] == "budget.cap"
    assert verify(bench.log, settings, tmp_path / "same").clean
    for changes in ({"summit_max_usd": Decimal(1)}, {"summit_max_tokens": 0}):
        folder = tmp_path / "-".join(changes)
        findings = verify(bench.log, replace(settings, **changes), folder).findings
        assert findings.counts.keys() == {ViolationKind.NOT_BORNE_OUT}


def test_the_edges_refuse_before_anything_is_produced(tmp_path: Path) -> None:
    with summit_bench(tmp_path, summit_max_usd=Decimal(1)) as bench:
        call = stage.invoke(budget={"usd": 1.5})
        error = bench.error(call)
        assert (error["code"], error["data"]["rule"]) == (-32602, "budget.cap")
        answer = bench.ask("POST", CALLS, json=[call])
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["rule"] == "budget.cap"
        assert bench.bench.records(stage.CALLS) == []
