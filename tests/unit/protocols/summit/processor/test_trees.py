"""What runs and those below them spend is counted once, and a budget bounds all of it."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.summit.processor.support import AGENT, CALLER, Json
from tests.unit.protocols.summit.processor.tree_bench import TreeBench, link
from topology.summit import SUMMIT_INBOX, SUMMIT_TREE


@pytest.fixture
def bench() -> TreeBench:
    return TreeBench()


def family(bench: TreeBench, *children: str, **budget: Any) -> None:
    """A root, and children of it that are linked."""
    bench.call_run("root", **budget)
    for child in children:
        bench.call_run(child, "root")
    bench.settle()


def test_a_run_alone_sends_nothing_and_has_no_totals(bench: TreeBench) -> None:
    bench.call_run("root", usd=1)
    bench.spend("root", 0.5)
    bench.spend("root", 0.5, kind="result")
    assert bench.of(SUMMIT_TREE) == []
    assert bench.totals("root") is None


def test_a_linked_run_counts_for_all_above(bench: TreeBench) -> None:
    family(bench, "child")
    bench.call_run("leaf", "child")
    bench.spend("leaf", 0.1, 7)
    bench.spend("root", 0.25, 1)
    facts = bench.settle()
    assert {(f["runId"], f["rule"]) for f in facts if f["originRunId"] == "leaf"} == {
        (run, rule) for run in ("child", "root") for rule in ("tree.linked", "tree.spent")
    }
    assert bench.totals("child") == (Decimal("0.1"), 7, 2, 1)
    assert bench.totals("root") == (Decimal("0.35"), 8, 3, 2)
    bench.spend("leaf", 0.1, 9, "result")
    bench.settle()
    assert bench.totals("root") == (Decimal("0.35"), 10, 3, 1)


def test_a_fact_names_record_run_origin_and_totals(bench: TreeBench) -> None:
    family(bench, "child", usd=1, tokens=50)
    bench.spend("child", 0.5, 3)
    (fact,) = bench.settle()
    assert fact["eventId"] == f"{fact['cause']}/tree/root/child/spend"
    assert fact["cause"].startswith("summit.tree/0/")
    assert (fact["subject"], fact["verdict"], fact["rule"]) == ("tree", "accepted", "tree.spent")
    assert (fact["agentId"], fact["caller"]) == (AGENT, AGENT)
    assert (fact["originRunId"], fact["treeUsd"]) == ("child", "0.500000000")
    assert fact["figures"] == {
        "tokens": 3,
        "cost_usd": 0.5,
        "tree_tokens": 3,
        "usd": 1,
        "tokens_budget": 50,
    }
    assert not {"fromState", "toState", "runVersion"} & {k for k, v in fact.items() if v}


@pytest.mark.parametrize(
    ("last", "rule", "usd"),
    [
        (0.1, "tree.spent", "0.300000000"),
        (0.1000000004, "tree.spent", "0.300000000"),
        (0.1000000006, "budget.tree_usd", "0.300000001"),
    ],
)
def test_dollars_are_rounded_run_by_run(bench: TreeBench, last: float, rule: str, usd: str) -> None:
    family(bench, "a", "b", "c", usd=0.3)
    for child, spent in (("a", 0.1), ("b", 0.1), ("c", last)):
        bench.spend(child, spent)
    facts = [f for f in bench.settle() if f["originRunId"] == "c"]
    assert (facts[0]["rule"], facts[0]["treeUsd"]) == (rule, usd)


@pytest.mark.parametrize(
    ("budget", "rule"),
    [({"usd": 1}, "budget.tree_usd"), ({"tokens": 9}, "budget.tree_tokens")],
)
def test_a_broken_budget_ends_the_run_and_stops_what_is_open(
    bench: TreeBench, budget: Json, rule: str
) -> None:
    family(bench, "done", "busy", **budget)
    bench.call_run("leaf", "busy")
    bench.spend("done", 0.6, 6, "result")
    bench.spend("leaf", 0.6, 6)
    facts = bench.settle()
    (breaks,) = [f for f in facts if f["toState"] == "budget_exceeded" and f["rule"] == rule]
    assert (breaks["runId"], breaks["originRunId"]) == ("root", "leaf")
    root = bench.run("root")
    assert root["error"]["data"] == {"originRunId": "leaf", "rule": rule}
    assert (root["state"], root["reason"]) == ("budget_exceeded", rule)
    assert bench.state("done") == "completed"
    for run in ("busy", "leaf"):
        row = bench.run(run)
        assert (row["state"], row["reason"]) == ("budget_exceeded", "budget.tree")
        assert bench.stops(run) == ["budget.tree"]
    assert bench.stops("root") == [rule]
    assert bench.totals("root") == (Decimal("1.2"), 12, 4, 0)
    stopped = [f for f in facts if f["rule"] == "tree.stopped"]
    assert [(f["runId"], f["originRunId"], f["toState"]) for f in stopped] == [
        ("busy", "root", "budget_exceeded"),
        ("leaf", "root", "budget_exceeded"),
    ]


@pytest.mark.parametrize("end", ["usd", "agent", "time"])
def test_any_budget_that_ends_a_run_stops_the_runs_below(bench: TreeBench, end: str) -> None:
    family(bench, "child", usd=1, seconds=5)
    if end == "usd":
        bench.spend("root", 2)
    elif end == "agent":
        bench.reply("error", runId="root", status="budget_exceeded")
    else:
        bench.fire(bench.now + 6000)
    assert bench.state("root") == "budget_exceeded"
    bench.settle()
    assert bench.run("child")["reason"] == "budget.tree"


@pytest.mark.parametrize("kind", ["result", "error"])
def test_other_ends_stop_nobody(bench: TreeBench, kind: str) -> None:
    family(bench, "child", usd=1)
    bench.spend("root", 0.5, kind=kind)
    bench.settle()
    assert bench.state("child") == "queued"
    bench.call_run("other")
    bench.call_run("below", "other")
    bench.settle()
    bench.cancel("other", caller=CALLER)
    bench.settle()
    assert bench.state("below") == "queued"


def test_the_runs_own_report_breaks_the_budget_of_its_tree(bench: TreeBench) -> None:
    family(bench, "child", usd=1)
    bench.spend("child", 0.75)
    bench.settle()
    fact = bench.spend("root", 0.5, kind="result")
    assert (fact["rule"], fact["toState"]) == ("budget.tree_usd", "budget_exceeded")
    assert (fact["originRunId"], fact["treeUsd"]) == ("root", "1.250000000")
    assert fact["figures"]["cost_usd"] == 0.5
    bench.settle()
    assert bench.state("child") == "budget_exceeded"


def test_after_its_end_a_root_still_counts_and_a_break_stops_what_is_open(
    bench: TreeBench,
) -> None:
    family(bench, "child", "other", usd=1)
    bench.spend("root", 0.5, kind="result")
    bench.spend("child", 0.75, kind="result")
    facts = bench.settle()
    breaks = [f for f in facts if f["rule"] == "budget.tree_usd"]
    assert {(f["runId"], f["verdict"], f.get("toState")) for f in breaks} == {
        ("root", "accepted", None)
    }
    assert bench.state("root") == "completed"
    assert bench.state("other") == "budget_exceeded"


def test_a_run_that_is_accepted_while_the_root_ends_is_stopped(bench: TreeBench) -> None:
    family(bench, usd=1)
    bench.call_run("child", "root")
    bench.spend("root", 2)
    facts = bench.settle()
    assert [f["rule"] for f in facts][:2] == ["tree.linked", "tree.stopped"]
    assert bench.state("child") == "budget_exceeded"


def test_a_late_reply_is_not_counted(bench: TreeBench) -> None:
    family(bench, "child")
    bench.spend("child", 0.5, kind="result")
    assert bench.spend("child", 0.9)["rule"] == "run.terminal"
    bench.settle()
    totals = bench.totals("root")
    assert totals is not None
    assert totals[0] == Decimal("0.5")


@pytest.mark.parametrize(
    ("caller", "root_caller", "rule"),
    [
        (AGENT, "desk", "tree.linked"),
        ("desk", "desk", "tree.linked"),
        (None, None, "tree.linked"),
        ("stranger", "desk", "tree.not_entitled"),
        (None, "desk", "tree.not_entitled"),
        ("stranger", None, "tree.not_entitled"),
    ],
)
def test_only_the_parents_agent_and_caller_spend_on_its_account(
    bench: TreeBench, caller: str | None, root_caller: str | None, rule: str
) -> None:
    bench.call_run("root", caller=root_caller)
    bench.call_run("child", "root", caller=caller)
    (fact,) = bench.settle()
    assert fact["rule"] == rule
    bench.spend("child", 1)
    (fact,) = bench.settle()
    counted = rule == "tree.linked"
    assert fact["rule"] == ("tree.spent" if counted else "tree.unlinked")
    assert (bench.totals("root") is not None) is counted


def test_a_stranger_reaches_no_account_through_a_run_of_its_own(bench: TreeBench) -> None:
    bench.call_run("root", usd=1)
    bench.call_run("mine", "root", caller="stranger")
    bench.call_run("below", "mine", caller="stranger")
    bench.spend("below", 9)
    rules = {(f["runId"], f["rule"]) for f in bench.settle()}
    assert ("mine", "tree.spent") in rules
    assert {rule for run, rule in rules if run == "root"} == {"tree.not_entitled", "tree.unlinked"}
    assert bench.state("root") == "queued"


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (link("child", "nobody"), "tree.unknown"),
        (link("root", "root"), "tree.cycle"),
        (link("far", "root", via="child", hops=65), "tree.deep"),
        (link("far", "root", via="gap", hops=1), "tree.unlinked"),
        (link("gap", "root", kind="spend", tokens=1), "tree.unlinked"),
        (link("gap", "root", caller="x"), "tree.not_entitled"),
    ],
)
def test_what_cannot_be_counted_is_refused(bench: TreeBench, record: Json, rule: str) -> None:
    family(bench, "child", usd=1)
    before = bench.totals("root")
    fact = bench.tell(record)
    assert (fact["verdict"], fact["rule"]) == ("rejected", rule)
    assert bench.totals("root") == before
    assert bench.settle() == []


def test_the_most_hops_are_counted(bench: TreeBench) -> None:
    family(bench, "child")
    assert bench.tell(link("far", "root", via="child", hops=64))["rule"] == "tree.linked"


def test_what_is_said_again_is_a_duplicate_and_not_passed_on(bench: TreeBench) -> None:
    family(bench, "child")
    bench.call_run("leaf", "child")
    bench.spend("leaf", 1, 5)
    bench.settle()
    again = link("leaf", "child", kind="spend", tokens=5, usd="1.000000000")
    for record in (again, link("leaf", "child")):
        fact = bench.tell(record)
        assert (fact["verdict"], fact["rule"]) == ("duplicate", "tree.same")
    assert bench.settle() == []


def test_runs_that_name_each_other_are_counted_once_each(bench: TreeBench) -> None:
    bench.call_run("one", "two")
    bench.call_run("two", "one")
    bench.spend("one", 1)
    bench.spend("two", 2)
    facts = bench.settle()
    assert {f["rule"] for f in facts} == {"tree.linked", "tree.spent", "tree.cycle"}
    assert bench.totals("one") == bench.totals("two") == (Decimal(3), 0, 2, 1)


@pytest.mark.parametrize("budget", [{"usd": 9}, {"tokens": 9}])
def test_a_run_with_a_budget_ends_when_too_many_are_below(budget: Json) -> None:
    bench = TreeBench(summit_tree_max=2)
    family(bench, "a", "b", **budget)
    assert bench.state("root") == "queued"
    bench.call_run("c", "root")
    facts = bench.settle()
    assert (facts[0]["verdict"], facts[0]["rule"]) == ("accepted", "budget.tree_size")
    states = {run: bench.state(run) for run in ("root", "a", "b", "c")}
    assert states == dict.fromkeys(states, "budget_exceeded")


@pytest.mark.parametrize("budget", [{}, {"seconds": 50}])
def test_without_such_a_budget_further_runs_are_not_counted(budget: Json) -> None:
    bench = TreeBench(summit_tree_max=2)
    family(bench, "a", "b", **budget)
    bench.call_run("c", "root")
    bench.spend("c", 1)
    facts = bench.settle()
    assert [(f["verdict"], f["rule"]) for f in facts] == [
        ("rejected", "tree.full"),
        ("rejected", "tree.unlinked"),
    ]
    assert (bench.state("root"), bench.state("c")) == ("queued", "running")


def test_an_overdue_run_times_out_before_it_is_told_anything(bench: TreeBench) -> None:
    family(bench, "child", seconds=5)
    bench.spend("child", 1)
    bench.now += 6000
    bench.settle()
    root = bench.run("root")
    assert (root["reason"], bench.stops("root")) == ("budget.seconds", ["budget.seconds"])
    assert bench.state("child") == "budget_exceeded"


def test_a_stop_to_an_ended_run_goes_on_to_what_is_open_below(bench: TreeBench) -> None:
    family(bench, "child", usd=1)
    bench.call_run("leaf", "child")
    bench.settle()
    bench.spend("child", 0.1, kind="result")
    bench.spend("root", 2)
    facts = bench.settle()
    assert ("child", "tree.same") in [(f["runId"], f["rule"]) for f in facts]
    assert bench.state("leaf") == "budget_exceeded"


RUNS = st.integers(0, 7)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), RUNS, st.sampled_from([None, 1, 2, 5])),
        st.tuples(st.sampled_from(["progress", "result"]), RUNS, st.integers(0, 6)),
        st.tuples(st.just("deliver"), st.integers(1, 5), st.just(0)),
    ),
    min_size=10,
    max_size=60,
)


@settings(max_examples=example_count(200), deadline=None)
@given(STEPS, st.lists(st.integers(0, 6), min_size=7, max_size=7), st.randoms())
def test_any_order_gives_the_same_totals_and_keeps_budgets(
    steps: list[Any], parents: list[int], chance: random.Random
) -> None:
    bench = TreeBench()
    parent = {f"r{n + 1}": f"r{parents[n] % (n + 1)}" for n in range(7)}
    budgets: dict[str, float] = {}
    linked: dict[str, str] = {}
    facts: list[Json] = []
    for kind, number, detail in steps:
        run = f"r{number}"
        if kind == "call" and bench.state(run) == "none":
            limits = {} if detail is None else {"usd": detail}
            bench.call_run(run, parent.get(run), **limits)
            budgets |= {} if detail is None else {run: detail}
        elif kind == "deliver":
            facts += bench.settle(chance, number)
        elif kind != "call" and bench.state(run) != "none":
            bench.spend(run, detail / 4, detail, kind)
    facts += bench.settle(chance)
    for fact in facts:
        if fact["rule"] == "tree.linked" and parent[fact["originRunId"]] == fact["runId"]:
            linked[fact["originRunId"]] = fact["runId"]
    assert len(facts) == len(bench.of(SUMMIT_TREE))
    for run in [f"r{n}" for n in range(8) if bench.state(f"r{n}") != "none"]:
        tree = [one for one in (f"r{n}" for n in range(8)) if _is_below(one, run, linked)]
        spent = [bench.metrics(one) for one in tree]
        is_open = [one for one in tree if bench.state(one) in ("queued", "running")]
        usd, tokens = sum((s[0] for s in spent), Decimal(0)), sum(s[1] for s in spent)
        totals = bench.totals(run)
        if len(tree) == 1:
            assert totals is None
        else:
            assert totals == (usd, tokens, len(tree), len([one for one in is_open if one != run]))
        state = bench.state(run)
        if run in budgets and state in ("queued", "running"):
            assert usd <= Decimal(str(budgets[run]))
        if state == "budget_exceeded":
            assert is_open == []


def _is_below(run: str, top: str, linked: dict[str, str]) -> bool:
    while run != top:
        if run not in linked:
            return False
        run = linked[run]
    return True


def test_the_stop_of_a_tree_reaches_the_agents_inbox_once(bench: TreeBench) -> None:
    family(bench, "child", usd=1)
    bench.spend("root", 2)
    bench.settle()
    stops = [one.json for one in bench.of(SUMMIT_INBOX) if one.json["method"] == "agent.cancel"]
    assert [stop["params"]["runId"] for stop in stops] == ["root", "child"]
