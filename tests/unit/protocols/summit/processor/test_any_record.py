"""Whatever lies on the three inputs gets one verdict, and whatever comes of it is legal."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import from_json, to_json
from schemas.summit import rules
from streams.engine.records import position
from tests.examples import example_count
from tests.unit.processing.spoiling import change, places
from tests.unit.protocols.summit.processor.support import (
    AGENT,
    CHECKED,
    CRITIC,
    PROVENANCE,
    Bench,
    Json,
    cancel,
    invoke,
    reply,
    tool_call,
)
from topology.core import RTES_RAW
from topology.machine import step
from topology.machines.summit_run import MACHINE
from topology.summit import SUMMIT_CALLS, SUMMIT_EVENTS, SUMMIT_REPLIES, SUMMIT_RUNS_TABLE

CODES = {rule.code for rule in rules.ALL}
TEXTS = st.text(max_size=6) | st.sampled_from(["", "R", "2.0", AGENT, "x" * 1025, "a/b"])
JSON_TEXTS = st.sampled_from(["{", "[]", "3", "null", '{"a":1,"a":2}', '{"a":NaN}', "", "{}"])
SCALARS: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**31), 2**31 - 1),
    float: st.floats(),
    bool: st.booleans(),
}

RUNS = st.sampled_from(["R", "R", "S"])
BUDGETS = st.sampled_from([None, {"usd": 1}, {"seconds": 3}, {"usd": 1, "tokens": 9}, {}])


@st.composite
def calls(draw: st.DrawFn) -> tuple[Any, Json]:
    budget = draw(BUDGETS)
    more: Json = {} if budget is None else {"context": {"budget": budget}}
    kind = draw(st.sampled_from(["invoke", "invoke", "tool", "cancel"]))
    caller = draw(st.sampled_from(["desk-7", "desk-7", "operator", None]))
    if kind == "cancel":
        return SUMMIT_CALLS, cancel(draw(RUNS), caller=caller)
    make = invoke if kind == "invoke" else tool_call
    return SUMMIT_CALLS, make(draw(RUNS), caller=caller, **more)


@st.composite
def replies(draw: st.DrawFn) -> tuple[Any, Json]:
    kind = draw(st.sampled_from(["progress", "progress", "result", "error", "verification"]))
    cost = {"tokens": draw(st.sampled_from([0, 9, 10])), "cost_usd": draw(st.sampled_from([0, 2]))}
    more: Json = {"runId": draw(RUNS)}
    if kind != "verification":
        more["metrics"] = draw(st.sampled_from([cost, cost, None]))
        more["agentId"] = draw(st.sampled_from([AGENT, AGENT, AGENT, CRITIC]))
    if kind == "result":
        more["output"] = draw(st.sampled_from([{"words": 1}, {"words": "one"}, 3]))
        more["verification"] = draw(st.sampled_from([None, CHECKED, {"status": "failed"}]))
    if kind == "error":
        more["status"] = draw(st.sampled_from([None, "failed", "budget_exceeded"]))
    more["provenance"] = draw(st.sampled_from([PROVENANCE, PROVENANCE, None]))
    return SUMMIT_REPLIES, reply(kind, draw(st.sampled_from(["a", "b", "c"])), **more)


HISTORIES = st.lists(
    st.tuples(calls() | replies(), st.sampled_from([0, 0, 1, 500, 2_999, 700_000])),
    min_size=4,
    max_size=24,
)


def play(history: list[tuple[tuple[Any, Json], int]]) -> Bench:
    """Records as they come, some of them long after the last, and some of their timers late."""
    bench = Bench()
    for number, ((topic, value), wait) in enumerate(history):
        if wait and number % 2:
            bench.advance_to(bench.now + wait)
        bench.decide(bench.record(topic, value, bench.now + wait))
    bench.advance_to(bench.now + 1_000_000)
    return bench


@settings(max_examples=example_count(150), deadline=None)
@given(HISTORIES)
def test_any_history_is_legal(history: list[tuple[tuple[Any, Json], int]]) -> None:
    bench = play(history)
    for run_id, row in bench.rows(SUMMIT_RUNS_TABLE).items():
        facts = [f for f in bench.facts() if f["runId"] == run_id]
        check_history(facts, row)
        assert row["state"] in MACHINE.terminal, "after all timers nothing is open"
        ends = [f for f in facts if f["toState"] in MACHINE.terminal]
        assert len(ends) == 1, "a run ends once"
        delivered = [d for d in bench.inbox() if d["params"]["runId"] == run_id]
        assert [d["delivery"]["kind"] for d in delivered][:1] == [row["kind"]]
        assert len(delivered) <= 2
        check_rtes(bench, row)
    assert bench.timers == {}


def check_history(facts: list[Json], row: Json) -> None:
    state, version = "none", 0
    for fact in facts:
        if fact["toState"] is not None:
            assert (fact["fromState"], fact["verdict"] in ("accepted", "fired")) == (state, True)
            names = [e for e in MACHINE.events if step(MACHINE, state, e) == fact["toState"]]
            assert names, "no edge of the machine"
            state = fact["toState"]
        if fact["verdict"] in ("accepted", "fired"):
            version += 1
        if state != "none" and fact["runVersion"] is not None:
            assert fact["runVersion"] == version
    assert (row["state"], row["version"]) == (state, version)


def check_rtes(bench: Bench, row: Json) -> None:
    events = [one.value["payload"][1] for one in bench.of(RTES_RAW)]
    moves_sent = [
        (e["from_state"], e["to_state"]) for e in events if e.get("task_id") == row["runId"]
    ]
    moves = [
        (f["fromState"], f["toState"])
        for f in bench.facts()
        if f["runId"] == row["runId"] and f["toState"] is not None
    ]
    assert moves_sent == moves
    tools = [e for e in events if e.get("call_id", "").startswith(f"{row['runId']}/")]
    assert len(tools) == (2 if row["kind"] == "tool" else 0)
    ids = [one.id for one in bench.of(RTES_RAW)]
    assert len(set(ids)) == len(ids)


@settings(max_examples=example_count(60), deadline=None)
@given(HISTORIES)
def test_what_is_sent_twice_counts_once(history: list[tuple[tuple[Any, Json], int]]) -> None:
    """Each record right after itself: accepted ones become duplicates, rows stay as they are."""
    bench = Bench()
    for (topic, value), wait in history:
        at = bench.now + wait
        first = bench.fact(bench.record(topic, value, at))
        rows = bench.rows(SUMMIT_RUNS_TABLE)
        again = bench.fact(bench.record(topic, value, at))
        assert bench.rows(SUMMIT_RUNS_TABLE) == rows
        method = value.get("method")
        if first["verdict"] == "accepted":
            assert again["verdict"] == "duplicate"
        else:
            assert (again["verdict"], again["rule"]) == (first["verdict"], first["rule"]), method


@settings(max_examples=example_count(60), deadline=None)
@given(HISTORIES, st.integers(2, 30))
def test_batches_change_nothing(history: list[tuple[tuple[Any, Json], int]], size: int) -> None:
    alone, together = Bench(), Bench()
    for bench, max_size in ((alone, 1), (together, size)):
        messages = []
        for (topic, value), wait in history:
            messages.append(bench.record(topic, value, bench.now + wait))
        for start in range(0, len(messages), max_size):
            bench.decide(*messages[start : start + max_size])
    for topic in {one.topic for one in alone.sent}:
        assert together.of(topic) == alone.of(topic)
    assert together.tables == alone.tables
    assert together.timers == alone.timers


def spoiled(draw: st.DrawFn, name: Any, old: Any) -> Any:
    if type(old) in SCALARS:
        return draw(SCALARS[type(old)])
    if isinstance(old, str) and name not in ("kind", "status"):
        return draw(JSON_TEXTS if str(name).endswith("_json") else TEXTS)
    return old


@st.composite
def wild(draw: st.DrawFn) -> tuple[Any, Json]:
    topic, value = draw(calls() | replies())
    avro = from_json(topic.record, value)
    for path in draw(st.lists(st.sampled_from(places(avro)), min_size=1, max_size=3)):
        change(avro, path, partial(spoiled, draw))
    return topic, avro


@settings(max_examples=example_count(300), deadline=None)
@given(st.lists(wild(), min_size=1, max_size=4))
def test_any_record_gets_one_verdict(records: list[tuple[Any, Json]]) -> None:
    bench = Bench()
    bench.invoke()
    for topic, value in records:
        key = value["runId"] if topic is SUMMIT_REPLIES else value["params"][1]["runId"]
        message = bench.record(topic, value, avro=True, key=key)
        sent = bench.decide(message)
        cause = position(message.record)
        (fact,) = [one for one in bench.of(SUMMIT_EVENTS, sent) if one.id == f"{cause}/0"]
        assert fact.json["rule"] in CODES
        assert fact.key == key
        assert json.dumps(fact.json)
        if fact.json["verdict"] in ("rejected", "duplicate"):
            assert len(sent) == 1
    for row in bench.rows(SUMMIT_RUNS_TABLE).values():
        assert to_json("headrace.summit.SummitRun", row)["runId"] == row["runId"]
