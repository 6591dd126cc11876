"""A tool call begins and ends once, against the protocol's table (4.4), written here once more."""

from __future__ import annotations

import json
from itertools import product

import pytest

from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes.calls import call_key
from tests.unit.protocols.saop.rtes.support import Bench, completed, invoked, transition
from topology.saop import RTES_CALLS

WAYS = {
    "none": [],
    "open": ["invoked"],
    "closed, INVOKED seen": ["invoked", "completed"],
    "closed, unpaired": ["completed"],
    "closed, out of order": ["completed", "invoked"],
}
TABLE = {
    ("none", "invoked"): [],
    ("none", "completed"): ["unpaired"],
    ("open", "invoked"): "call_already_invoked",
    ("open", "completed"): [],
    ("closed, INVOKED seen", "invoked"): "call_already_invoked",
    ("closed, INVOKED seen", "completed"): "call_already_completed",
    ("closed, unpaired", "invoked"): ["out_of_order"],
    ("closed, unpaired", "completed"): "call_already_completed",
    ("closed, out of order", "invoked"): "call_already_invoked",
    ("closed, out of order", "completed"): "call_already_completed",
}


def half(n: int, name: str) -> AvroValue:
    return invoked(n) if name == "invoked" else completed(n)


def run_calls(way: list[str]) -> Bench:
    bench = Bench()
    for n, name in enumerate(way):
        bench.recorded(half(n, name))
    return bench


@pytest.mark.parametrize(("state", "event"), list(product(WAYS, ["invoked", "completed"])))
def test_every_state_of_a_call_answers_both_events(state: str, event: str) -> None:
    bench = run_calls(WAYS[state])
    expected = TABLE[state, event]
    sent = bench.judge(half(100, event)).value
    if isinstance(expected, list):
        assert (sent["rule"], sent["flags"]) == ("recorded", expected)
        return
    assert (sent["verdict"], sent["rule"], sent["fault"]) == ("rejected", expected, "sender")
    way = WAYS[state]
    first = way.index(event) + 1
    assert json.loads(sent["figures_json"]) == {"call_id": "c1", "sequence": first}
    assert bench.session()["last_sequence"] == len(way)


def test_another_tool_in_the_second_half_is_flagged() -> None:
    bench = run_calls(["invoked"])
    assert bench.recorded(completed(9, tool="grep"))["flags"] == ["tool_mismatch"]
    late = run_calls(["completed"])
    assert late.recorded(invoked(9, tool="grep"))["flags"] == ["out_of_order"]


def test_calls_are_told_apart_by_session_origin_and_id() -> None:
    bench = run_calls(["invoked"])
    for n, members in enumerate(
        [
            {"session_id": "s2"},
            {"origin": "apc"},
            {"origin": "sap"},
            {"call_id": "c2"},
            {"call_id": ""},
        ]
    ):
        assert bench.rule(invoked(10 + n, **members)) == "recorded"


def test_a_paired_end_belongs_to_the_task_of_its_beginning() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=1)
    assert bench.recorded(invoked(10))["task_id"] == "A"
    bench.walk("A", "IN_PROGRESS", "COMPLETED", first=20)
    bench.walk("B", "PENDING", "IN_PROGRESS", first=30)
    assert bench.recorded(completed(11))["task_id"] == "A"
    assert bench.recorded(completed(12, call_id="c2"))["task_id"] == "B"
    assert bench.recorded(invoked(13, call_id="c2"))["task_id"] == "B"
    assert bench.recorded(invoked(14, call_id="c3", origin="apc"))["task_id"] is None


def test_several_active_tasks_are_no_link() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=1)
    bench.walk("B", "PENDING", "IN_PROGRESS", first=2)
    assert bench.recorded(invoked(10))["task_id"] is None
    bench.recorded(transition(11, "IN_PROGRESS", "PAUSED", task="B"))
    assert bench.recorded(completed(12))["task_id"] is None, "the link of its beginning"
    assert bench.recorded(invoked(13, call_id="c2"))["task_id"] == "A"


@pytest.mark.parametrize("way", [["invoked", "completed"], ["completed"]])
def test_a_closed_call_is_forgotten_like_an_id(way: list[str]) -> None:
    bench = Bench(rtes_dedupe_ids=3, rtes_dedupe_s=60, rtes_profile="open")
    for n, name in enumerate(way):
        bench.recorded(half(n, name))
    for n in range(3):
        bench.recorded(transition(50 + n, "A", "A"))
    assert bench.rule(completed(60)) == "call_already_completed"
    bench.advance(60_000)
    assert bench.recorded(completed(60))["flags"] == ["unpaired"]


def test_an_open_call_is_kept_and_a_closed_one_swept() -> None:
    bench = Bench(rtes_dedupe_ids=1, rtes_dedupe_s=60, rtes_profile="open")
    bench.recorded(invoked(1, call_id="open"))
    bench.recorded(invoked(2))
    bench.recorded(completed(3))
    bench.recorded(transition(4, "A", "A"))
    bench.advance(100 * 3_600_000)
    assert set(bench.rows(RTES_CALLS)) == {call_key("s1", None, "open")}
    assert bench.recorded(completed(5, call_id="open"))["flags"] == []
