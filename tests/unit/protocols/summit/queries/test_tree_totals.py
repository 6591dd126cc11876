"""What a tree has spent, as clients see it, and as `verify` adds it up again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.records import Output
from streams.verify.run import verify
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    REPLIES,
    Json,
    invoke,
    progress,
    registered,
    result,
)
from tests.unit.views.bench import Bench
from topology.summit import SUMMIT_EVENTS, SUMMIT_TREES

RUNS = "/v1/summit/runs"
NOTHING: Json = {"usd": "0.000000000", "tokens": 0, "runs": 1, "open": 0}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, partitions=4)
    registered(bench)
    yield bench
    bench.close()


def call(bench: Bench, run: str, parent: str | None = None, **budget: Any) -> str:
    """Make a run on behalf of another; return the position of its call."""
    context: Json = {"traceId": "tr-1"}
    if parent is not None:
        context["parentRunId"] = parent
    if budget:
        context["budget"] = budget
    caller = "desk" if parent is None else AGENT
    (position,) = bench.send(CALLS, {**invoke(run, **context), "caller": caller})
    return position


def spend(bench: Bench, run: str, usd: float, tokens: int = 0) -> str:
    (position,) = bench.send(REPLIES, progress(run, metrics={"tokens": tokens, "cost_usd": usd}))
    return position


def run_desk(bench: Bench) -> None:
    """Three levels under a budget, of which the last report breaks it."""
    call(bench, "desk-1", usd=0.3)
    for child in ("desk-1.1", "desk-1.2"):
        call(bench, child, "desk-1")
    call(bench, "desk-1.1.1", "desk-1.1")
    spend(bench, "desk-1.1.1", 0.1, 5)
    bench.send(REPLIES, result("desk-1.2", metrics={"tokens": 3, "cost_usd": 0.1}))


def violations(bench: Bench, folder: Path) -> list[Any]:
    return list(verify(bench.log, bench.settings, folder).findings.shown)


def test_a_run_shows_what_its_tree_has_spent(bench: Bench) -> None:
    run_desk(bench)
    totals = {"usd": "0.200000000", "tokens": 8, "runs": 4, "open": 2}
    assert bench.look(f"{RUNS}/desk-1")["tree"] == totals
    assert bench.look(f"{RUNS}/desk-1.1")["tree"] == {
        "usd": "0.100000000",
        "tokens": 5,
        "runs": 2,
        "open": 1,
    }
    assert bench.look(f"{RUNS}/desk-1.2")["tree"] == NOTHING | {"usd": "0.100000000", "tokens": 3}
    items = bench.look(f"{RUNS}/desk-1/tree")["items"]
    assert [(item["runId"], item["depth"], item["treeUsd"]) for item in items] == [
        ("desk-1", 0, "0.200000000"),
        ("desk-1.1", 1, "0.100000000"),
        ("desk-1.1.1", 2, "0.100000000"),
        ("desk-1.2", 1, "0.100000000"),
    ]


def test_the_budget_of_the_first_bounds_all_three_levels(bench: Bench, tmp_path: Path) -> None:
    run_desk(bench)
    bench.send(
        REPLIES,
        progress("desk-1.1.1", "more", metrics={"tokens": 9, "cost_usd": 0.3}),
    )
    root = bench.look(f"{RUNS}/desk-1")
    assert (root["status"], root["reason"]) == ("budget_exceeded", "budget.tree_usd")
    assert root["error"]["data"] == {"rule": "budget.tree_usd", "originRunId": "desk-1.1.1"}
    ended = {run: bench.look(f"{RUNS}/{run}") for run in ("desk-1.1", "desk-1.1.1", "desk-1.2")}
    assert {run: each["status"] for run, each in ended.items()} == {
        "desk-1.1": "budget_exceeded",
        "desk-1.1.1": "budget_exceeded",
        "desk-1.2": "completed",
    }
    assert ended["desk-1.1"]["error"]["data"] == {"rule": "budget.tree", "originRunId": "desk-1"}
    assert root["tree"]["open"] == 0
    assert violations(bench, tmp_path / "verify") == []


def test_of_the_past_a_tree_is_not_known(bench: Bench) -> None:
    call(bench, "desk-1", usd=1)
    call(bench, "desk-1.1", "desk-1")
    then = spend(bench, "desk-1", 0.25)
    spend(bench, "desk-1.1", 0.5)
    past = bench.look(f"{RUNS}/desk-1", f"as_of={then}")
    assert (past["status"], past["tree"]) == ("running", None)
    assert bench.look(f"{RUNS}/desk-1")["tree"]["usd"] == "0.750000000"


def test_a_run_that_a_stop_ended_has_its_past_too(bench: Bench) -> None:
    call(bench, "desk-1", usd=1)
    before = call(bench, "desk-1.1", "desk-1")
    spend(bench, "desk-1", 2)
    events = bench.look(f"{RUNS}/desk-1.1/events")["items"]
    assert [event["rule"] for event in events] == ["call.accepted", "tree.stopped"]
    past = bench.look(f"{RUNS}/desk-1.1", f"as_of={before}")
    assert (past["status"], past["error"]) == ("queued", None)
    now = bench.look(f"{RUNS}/desk-1.1", f"as_of={events[-1]['cause']}")
    assert (now["status"], now["reason"]) == ("budget_exceeded", "budget.tree")


@pytest.mark.parametrize(
    ("member", "value"), [("usd", "0.100000000"), ("tokens", 7), ("runs", 3), ("open", 4)]
)
def test_forged_totals_are_found(bench: Bench, tmp_path: Path, member: str, value: Any) -> None:
    run_desk(bench)
    topic = bench.settings.prefix + SUMMIT_TREES.name
    record = [r for r in bench.records(SUMMIT_TREES.name) if r.key == b"desk-1"][-1]
    row = {**decode(record.value or b"", SUMMIT_TREES.record or "").value, member: value}
    forged = Output(topic, record.key, encode(SUMMIT_TREES.record or "", row))
    bench.log.append([forged._replace(partition=record.partition)])
    differences = violations(bench, tmp_path / "verify")
    assert any(member in str(one) or "open" in str(one) for one in differences), differences


def test_a_fact_with_other_totals_is_found(bench: Bench, tmp_path: Path) -> None:
    run_desk(bench)
    topic = bench.settings.prefix + SUMMIT_EVENTS.name
    facts = [r for r in bench.records(SUMMIT_EVENTS.name) if r.key == b"desk-1"]
    fact = decode(facts[-1].value or b"", SUMMIT_EVENTS.record or "").value
    assert fact["rule"] == "tree.spent"
    forged = encode(SUMMIT_EVENTS.record or "", {**fact, "treeUsd": "0.900000000"})
    output = Output(topic, facts[-1].key, forged, headers=facts[-1].headers)
    bench.log.append([output._replace(partition=facts[-1].partition)])
    text = str(violations(bench, tmp_path / "verify"))
    assert "treeUsd is '0.900000000', it follows '0.200000000'" in text
    assert "rule is 'tree.spent'" not in text
