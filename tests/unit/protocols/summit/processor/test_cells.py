"""Every cell of the two machines: the guide's tables, the declared ones, and what is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.unit.protocols.summit.processor.support import (
    AGENT,
    BUDGET,
    START_MS,
    Bench,
    Json,
    manifest,
)
from topology.machine import Machine, step
from topology.machines import summit_agent, summit_run
from topology.summit import SUMMIT_AGENTS_TABLE

IMPOSSIBLE = "·"
"""There is no such move: the event does not happen, or changes no run that has ended."""
REFUSALS = {
    "taken": "✗ run.conflict",
    "ended": "✗ run.terminal",
    "early": "✗ judge.not_completed",
}
"""Short words of the tables for cells that are frequent."""
RUN_TABLE = """
| event | none | queued | running | completed | failed | cancelled | budget_exceeded |
| call | queued | taken | taken | taken | taken | taken | taken |
| call_again | · | dup | dup | dup | dup | dup | dup |
| progress | ✗ run.unknown | running | = | ended | ended | ended | ended |
| overspend | ✗ run.unknown | budget_exceeded | budget_exceeded | ended | ended | ended | ended |
| result | ✗ run.unknown | completed | completed | ended | ended | ended | ended |
| fault | ✗ run.unknown | failed | failed | ended | ended | ended | ended |
| error | ✗ run.unknown | failed | failed | ended | ended | ended | ended |
| budget_stop | ✗ run.unknown | budget_exceeded | budget_exceeded | ended | ended | ended | ended |
| cancel | ✗ run.unknown | cancelled | cancelled | ended | ended | dup | ended |
| timeout | · | failed | failed | · | · | · | · |
| out_of_time | · | budget_exceeded | budget_exceeded | · | · | · | · |
| tree_overspend | · | budget_exceeded | budget_exceeded | · | · | · | · |
| tree_stop | · | budget_exceeded | budget_exceeded | · | · | · | · |
| verification | ✗ run.unknown | early | early | = | early | early | early |
"""
AGENT_TABLE = """
| event | none | registered | withdrawn |
| register | registered | registered | registered |
| register_again | · | dup | registered |
| withdraw | ✗ manifest.not_registered | withdrawn | ✗ manifest.not_registered |
"""

Cells = Mapping[tuple[str, str], str]


def cells(table: str) -> dict[tuple[str, str], str]:
    """(state, event) → cell."""
    head, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()
    ]
    return {
        (state, line[0]): REFUSALS.get(cell, cell)
        for line in lines
        for state, cell in zip(head[1:], line[1:], strict=True)
    }


RUN_CELLS, AGENT_CELLS = cells(RUN_TABLE), cells(AGENT_TABLE)


@pytest.mark.parametrize(
    ("declared", "table"),
    [(summit_run, RUN_CELLS), (summit_agent, AGENT_CELLS)],
    ids=["run", "agent"],
)
def test_the_declared_machine_is_the_specs(declared: Any, table: Cells) -> None:
    for (state, event), cell in table.items():
        target = step(declared.MACHINE, state, event)
        repeated = declared.REPEATED.get((state, event))
        refused = declared.REFUSED.get((state, event))
        if cell == IMPOSSIBLE:
            assert (target, repeated, refused) == (None, None, None)
        elif cell == "dup":
            assert (target, refused) == (None, None)
            assert repeated.code.endswith(".duplicate")
        elif cell.startswith("✗ "):
            assert (target, repeated) == (None, None)
            assert refused.code == cell.removeprefix("✗ ")
        else:
            assert (repeated, refused) == (None, None)
            assert target == (state if cell == "=" else cell)


TABLES: list[tuple[Machine[Any], Cells]] = [
    (summit_run.MACHINE, RUN_CELLS),
    (summit_agent.MACHINE, AGENT_CELLS),
]


def test_the_specs_tables_leave_nothing_out() -> None:
    for machine, table in TABLES:
        assert {state for state, _ in table} == set(machine.states)
        named = {event for _, event in table}
        assert set(machine.events) <= named


COST: Json = {"tokens": 0, "cost_usd": 9.01}
EVENTS: Mapping[str, Callable[[Bench], Json]] = {
    "call": lambda b: b.invoke(inputs={"text": "another"}, **BUDGET),
    "call_again": lambda b: b.invoke(id="another", **BUDGET),
    "progress": lambda b: b.reply("progress", "now"),
    "overspend": lambda b: b.reply("progress", "now", metrics=COST),
    "result": lambda b: b.reply("result", "now"),
    "fault": lambda b: b.reply("result", "now", output={"words": "six"}),
    "error": lambda b: b.reply("error", "now"),
    "budget_stop": lambda b: b.reply("error", "now", status="budget_exceeded"),
    "cancel": lambda b: b.cancel(),
    "verification": lambda b: b.reply("verification", "now"),
}
BY_TIMER = ("timeout", "out_of_time")
BY_TREE = ("tree_overspend", "tree_stop")
"""What becomes of other runs of the tree; `test_trees` has them."""
BY_RECORD = [(s, e, cell) for (s, e), cell in RUN_CELLS.items() if e not in (*BY_TIMER, *BY_TREE)]


@pytest.mark.parametrize(
    ("state", "event", "cell"), [c for c in BY_RECORD if c[2] != IMPOSSIBLE], ids=str
)
def test_a_run(state: str, event: str, cell: str) -> None:
    bench = Bench()
    bench.put_in(state)
    before = None if state == "none" else bench.run()
    moves_before, delivered = len(bench.moves()), len(bench.inbox())
    edges, known = len(bench.edges()), bench.known()
    fact = EVENTS[event](bench)
    if cell == "dup" or cell.startswith("✗ "):
        rejected = cell != "dup"
        assert fact["verdict"] == ("rejected" if rejected else "duplicate")
        assert fact["fault"] == ("sender" if rejected else None)
        rule = cell.removeprefix("✗ ") if rejected else f"{event.split('_')[0]}.duplicate"
        assert fact["rule"] == rule
        assert (fact["fromState"], fact["toState"]) == (None, None)
        assert bench.state() == state
        assert before is None or bench.run() == before
        assert len(bench.moves()) == moves_before, "RTES hears nothing"
        assert (len(bench.inbox()), len(bench.edges())) == (delivered, edges)
        assert bench.known() == known
        return
    target = state if cell == "=" else cell
    assert fact["verdict"] == "accepted"
    assert bench.state() == target
    step = (None, None) if target == state else (state, target)
    assert (fact["fromState"], fact["toState"]) == step
    assert bench.moves()[moves_before:] == ([] if target == state else [(state, target)])
    version = 1 if before is None else before["version"] + 1
    assert fact["runVersion"] == bench.run()["version"] == version
    reason = fact["rule"] if before is None or target != state else before["reason"]
    assert bench.run()["reason"] == reason


@pytest.mark.parametrize("event", BY_TIMER)
@pytest.mark.parametrize("state", summit_run.RunState)
def test_the_timer_of_a_run(state: str, event: str) -> None:
    """It fires on open runs only: it is deleted when a run ends."""
    bench = Bench(summit_run_timeout_s=20)
    bench.put_in(state, seconds=None if event == "timeout" else 20)
    facts_before = len(bench.facts())
    bench.advance_to(START_MS + 60_000)
    fired, cell = bench.facts()[facts_before:], RUN_CELLS[state, event]
    if cell == IMPOSSIBLE:
        assert fired == []
        assert bench.state() == state
        return
    (fact,) = fired
    rule = "run.timeout" if event == "timeout" else "budget.seconds"
    assert (fact["verdict"], fact["rule"], fact["subject"]) == ("fired", rule, "timer")
    assert (fact["fromState"], fact["toState"]) == (state, cell)
    assert bench.state() == cell
    assert bench.timers == {}


AGENT_WAYS: Mapping[str, Callable[[Bench], Any]] = {
    "none": lambda b: None,
    "registered": lambda b: _accepted(b.register(manifest())),
    "withdrawn": lambda b: [_accepted(b.register(manifest())), _accepted(b.withdraw())],
}
AGENT_EVENTS: Mapping[str, Callable[[Bench], Json]] = {
    "register": lambda b: b.register(manifest(version="2.0.0")),
    "register_again": lambda b: b.register(manifest()),
    "withdraw": lambda b: b.withdraw(),
}


def _accepted(fact: Json) -> Json:
    assert fact["verdict"] == "accepted"
    return fact


@pytest.mark.parametrize(
    ("state", "event", "cell"),
    [(s, e, cell) for (s, e), cell in AGENT_CELLS.items() if cell != IMPOSSIBLE],
    ids=str,
)
def test_an_agent(state: str, event: str, cell: str) -> None:
    bench = Bench(agents=False)
    AGENT_WAYS[state](bench)
    before = bench.row(SUMMIT_AGENTS_TABLE, AGENT)
    fact = AGENT_EVENTS[event](bench)
    row = bench.row(SUMMIT_AGENTS_TABLE, AGENT)
    if cell.startswith("✗ "):
        assert (fact["verdict"], fact["rule"]) == ("rejected", cell.removeprefix("✗ "))
        assert row == before
    elif cell == "dup":
        assert (fact["verdict"], fact["rule"]) == ("duplicate", "manifest.duplicate")
        assert row == before
    else:
        withdrawn = cell == "withdrawn"
        rule = "manifest.withdrawn" if withdrawn else "manifest.accepted"
        assert (fact["verdict"], fact["rule"]) == ("accepted", rule)
        assert row is not None
        assert row["state"] == cell
