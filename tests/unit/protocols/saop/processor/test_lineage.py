"""Edges of logged turns and escalations: each row of 5.5 that is this processor's."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.unit.protocols.saop.processor.support import START_MS, Bench, envelope
from topology.core import LINEAGE_EDGES

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01".encode()


def test_a_logged_turn_is_part_of_its_task_and_follows_the_turn_before_it() -> None:
    bench = Bench()
    first = bench.decide(bench.turn(envelope(0, task="a/b")))
    assert bench.edges(first) == {("saop:turn:a/b/0", "part_of", "saop:task:a/b")}
    second = bench.decide(bench.turn(envelope(1, task="a/b")))
    assert bench.edges(second) == {
        ("saop:turn:a/b/1", "part_of", "saop:task:a/b"),
        ("saop:turn:a/b/1", "derived_from", "saop:turn:a/b/0"),
    }


def test_a_hole_is_stepped_over() -> None:
    bench = Bench()
    bench.rules(0, 7)
    assert ("saop:turn:t1/7", "derived_from", "saop:turn:t1/0") in bench.edges(
        bench.advance(60_000)
    )


def test_a_held_turn_has_its_edges_when_it_is_logged() -> None:
    bench = Bench()
    outputs = bench.decide(bench.turn(envelope(1), headers=[("traceparent", PARENT)]))
    assert bench.edges(outputs) == set()
    sent = bench.of(LINEAGE_EDGES, bench.decide(bench.turn(envelope(0), START_MS + 5)))
    assert bench.edges(sent) == {
        ("saop:turn:t1/0", "part_of", "saop:task:t1"),
        ("saop:turn:t1/1", "part_of", "saop:task:t1"),
        ("saop:turn:t1/1", "derived_from", "saop:turn:t1/0"),
        ("saop:turn:t1/1", "same_trace", f"trace:{TRACE}"),
    }
    for one in sent:
        is_later_turn = one.value["from_node"] == "saop:turn:t1/1"
        assert one.cause == one.value["cause"] == f"saop.turns/0/{0 if is_later_turn else 1}"
        assert one.traceparent == (PARENT if is_later_turn else None)
        assert one.at == one.value["at"] == START_MS + 5


@pytest.mark.parametrize(
    "parent",
    [
        b"",
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"ff-" + TRACE.encode() + b"-b7ad6b7169203331-01",
        b"00-" + TRACE.upper().encode() + b"-b7ad6b7169203331-01",
        b"00-\xff-b7ad6b7169203331-01",
        PARENT[:20],
        b"0" * 200,
    ],
)
def test_what_is_no_trace_gives_no_edge(parent: bytes) -> None:
    bench = Bench()
    bench.rule(envelope(1), headers=[("traceparent", parent)])
    bench.rule(envelope(0), headers=[("traceparent", parent)])
    assert bench.logged() == [0, 1]
    assert {relation for _, relation, _ in bench.edges()} == {"part_of", "derived_from"}


def test_an_escalation_evaluates_its_turn() -> None:
    bench = Bench()
    for index in range(3):
        bench.rule(envelope(index, observation="x"))
    (escalation,) = bench.escalations()
    node = f"saop:escalation:{escalation['escalation_id']}"
    assert (node, "evaluates", "saop:turn:t1/2") in bench.edges()


def test_an_edges_id_is_the_hash_of_its_parts_and_its_key() -> None:
    bench = Bench()
    bench.rules(0, 1)
    for sent in bench.of(LINEAGE_EDGES):
        edge = sent.value
        text = f"{edge['from_node']}|{edge['relation']}|{edge['to_node']}"
        assert sent.key == sent.id == edge["edge_id"] == sha256(text.encode()).hexdigest()


def test_refused_turns_and_duplicates_leave_no_edge() -> None:
    bench = Bench()
    bench.rules(0)
    before = len(bench.of(LINEAGE_EDGES))
    assert bench.rules(0, 2000) == ["turn_duplicate", "turn_too_far"]
    assert bench.rule(envelope(1), key="t2") == "key_mismatch"
    assert len(bench.of(LINEAGE_EDGES)) == before
