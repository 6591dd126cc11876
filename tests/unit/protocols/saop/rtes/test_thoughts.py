"""Thought streams against the protocol's table (4.5), and the tasks that events are linked to."""

from __future__ import annotations

import json
from itertools import product

import pytest

from streams.engine.processor import AvroValue
from tests.unit.protocols.saop.rtes.support import Bench, pulse, thought, transition
from topology.saop import RTES_THOUGHTS

WAYS = {"none": [], "open": [False], "open twice": [False, False], "closed": [False, True]}


def chunk(n: int, final: bool = False, **members: object) -> AvroValue:
    return thought(n, f"chunk {n}", is_final=final, **members)


@pytest.mark.parametrize(("state", "final"), list(product(WAYS, [False, True])))
def test_every_state_of_a_stream_answers_both_chunks(state: str, final: bool) -> None:
    bench = Bench()
    for n, is_final in enumerate(WAYS[state]):
        bench.recorded(chunk(n, is_final))
    sent = bench.judge(chunk(100, final)).value
    if state != "closed":
        assert (sent["rule"], sent["flags"], sent["task_id"]) == ("recorded", [], None)
        return
    assert (sent["verdict"], sent["rule"], sent["fault"]) == (
        "rejected",
        "thought_closed",
        "sender",
    )
    assert json.loads(sent["figures_json"]) == {
        "task_id": None,
        "agent_id": "developer",
        "turn_index": 0,
        "sequence": 2,
    }


def test_a_chunk_is_kept_as_sent() -> None:
    words = "token=hunter2hunter2 \u00e9 \n\t"
    record = Bench().recorded(thought(1, words))
    assert record["payload"][1]["chunk"] == words


def test_streams_are_told_apart_by_session_agent_turn_and_task() -> None:
    bench = Bench()
    bench.recorded(chunk(1, True))
    assert bench.rule(chunk(2, session_id="s2")) == "recorded"
    assert bench.rule(chunk(3, agent_id="reviewer")) == "recorded"
    assert bench.rule(chunk(4, turn_index=1)) == "recorded"
    bench.walk("A", "PENDING", "IN_PROGRESS", first=10)
    record = bench.recorded(chunk(5))
    assert (record["rule"], record["task_id"]) == ("recorded", "A")
    bench.recorded(chunk(6, True))
    bench.walk("A", "IN_PROGRESS", "COMPLETED", first=20)
    bench.walk("B", "PENDING", "IN_PROGRESS", first=30)
    assert bench.recorded(chunk(7))["task_id"] == "B", "turn 0 of the next task"


def test_a_straggler_belongs_to_the_stream_of_the_task_just_left() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=10)
    bench.recorded(chunk(1))
    bench.walk("A", "IN_PROGRESS", "COMPLETED", first=20)
    assert bench.recorded(chunk(2, True))["task_id"] == "A"
    assert bench.refused(chunk(3))["rule"] == "thought_closed"
    assert bench.recorded(chunk(4, turn_index=1))["task_id"] is None, "that turn has no stream"


def test_the_latest_stream_is_the_one_with_the_latest_chunk() -> None:
    bench = Bench()
    bench.recorded(chunk(1))
    bench.walk("A", "PENDING", "IN_PROGRESS", first=10)
    bench.recorded(chunk(2))
    bench.walk("A", "IN_PROGRESS", "PAUSED", first=20)
    bench.walk("B", "PENDING", "IN_PROGRESS", first=30)
    bench.recorded(chunk(3))
    bench.walk("B", "IN_PROGRESS", "PAUSED", first=40)
    assert bench.recorded(chunk(4))["task_id"] == "B"
    bench.walk("A", "PAUSED", "IN_PROGRESS", first=50)
    bench.recorded(chunk(5))
    bench.walk("A", "IN_PROGRESS", "PAUSED", first=60)
    assert bench.recorded(chunk(6))["task_id"] == "A"


def test_while_several_tasks_are_active_a_chunk_has_no_task() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=10)
    bench.recorded(chunk(1))
    bench.walk("B", "PENDING", "IN_PROGRESS", first=20)
    assert bench.recorded(chunk(2))["task_id"] is None


def test_other_protocols_events_have_no_link_and_are_nobodys_latest() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=10)
    bench.recorded(chunk(1))
    assert bench.recorded(chunk(2, origin="apc"))["task_id"] is None
    assert bench.recorded(pulse(3, origin="apc"))["task_id"] is None
    assert bench.recorded(pulse(4))["task_id"] == "A"
    bench.walk("A", "IN_PROGRESS", "PAUSED", first=20)
    assert bench.recorded(chunk(5))["task_id"] == "A"


def test_another_protocols_tasks_are_not_active() -> None:
    bench = Bench()
    bench.recorded(transition(1, "X", "IN_PROGRESS", task="A", origin="apc"))
    assert bench.recorded(pulse(2))["task_id"] is None
    assert bench.session()["active_tasks"] == []


def test_a_task_whose_place_another_protocol_takes_is_not_active_any_more() -> None:
    bench = Bench()
    bench.walk("apc:A", "PENDING", "IN_PROGRESS", first=1)
    assert bench.recorded(pulse(5))["task_id"] == "apc:A"
    bench.recorded(transition(6, "X", "Y", task="A", origin="apc"))
    assert bench.recorded(pulse(7))["task_id"] is None


def test_words_of_the_open_profile_make_a_task_active() -> None:
    bench = Bench()
    bench.recorded(transition(1, "queued", "running", task="A"))
    assert bench.recorded(pulse(2))["task_id"] == "A"
    bench.recorded(transition(3, "running", "success", task="A"))
    assert bench.recorded(pulse(4))["task_id"] is None


def test_a_closed_stream_is_forgotten_like_an_id_and_an_open_one_is_not() -> None:
    bench = Bench(rtes_dedupe_ids=2, rtes_dedupe_s=60, rtes_profile="open")
    bench.recorded(chunk(1, turn_index=1))
    bench.recorded(chunk(2, True))
    for n in range(2):
        bench.recorded(transition(50 + n, "A", "A"))
    assert bench.rule(chunk(3)) == "thought_closed"
    bench.advance(60_000)
    assert bench.rule(chunk(3)) == "recorded"
    bench.recorded(chunk(4, True))
    for n in range(2):
        bench.recorded(transition(60 + n, "A", "A"))
    bench.advance(100 * 3_600_000)
    assert {row["state"] for row in bench.rows(RTES_THOUGHTS).values()} == {"open"}
