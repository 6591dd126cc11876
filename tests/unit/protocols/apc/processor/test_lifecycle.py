"""Every edge of the packet machine is driven by packets and time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from streams.protocols.apc.processor import lifecycle
from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import (
    Bench,
    ack,
    candidate,
    deferred,
    evaluation,
    packet,
    pid,
    retraction,
    waiting,
)
from topology.machine import ANY
from topology.machines.apc_packet import MACHINE


def driven() -> set[tuple[str, str, str]]:
    """The transitions of one story that leaves no edge out."""
    bench = Bench()
    bench.give(packet("IDEA", 1, confidence=2))
    bench.give(packet("IDEA", 2, run_phase="EXECUTION"))
    bench.give(packet("IDEA", 3))
    bench.give(evaluation(4))
    bench.give(waiting(5, ttl_ms=10))
    bench.advance_to(bench.now + 10)
    bench.give(waiting(6, to=("a",)))
    bench.give(ack(7, 6, "a", "REJECTED"))
    bench.give(deferred(8))
    bench.give(deferred(9))
    candidates = [candidate("one", 0.9, pid(8)), candidate("two", 0.1, pid(9))]
    bench.give(packet("ARBITRATION", 10, payload={"candidates": candidates}))
    bench.give(waiting(11))
    bench.give(deferred(12))
    retractable = (1, 2, 3, 5, 11, 12)
    for n in retractable:
        bench.give(retraction(20 + n, n))
    return {
        (str(t["from_state"]), t["event"], t["to_state"])
        for fact in bench.facts()
        for t in fact["transitions"]
    }


def test_every_edge_is_driven() -> None:
    edges = driven()
    exact = {
        (str(state), str(event), str(target))
        for (state, event), target in MACHINE.edges.items()
        if state != ANY
    }
    anywhere = {step for step in edges if step[1] == "retraction_packet_received"}
    assert {step for step in edges if step[1] != "init"} - anywhere == exact
    assert {state for state, _, _ in anywhere} == {
        "REJECTED_SCHEMA",
        "REJECTED_POLICY",
        "ARCHIVED",
        "EXPIRED",
        "ROUTED",
        "APPLIED",
    }
    assert {target for _, _, target in anywhere} == {"RETRACTED"}


def test_the_ways_of_the_processor_are_legal() -> None:
    start = lifecycle.ROUTED
    for way in (lifecycle.SCHEMA_FAILED, lifecycle.POLICY_FAILED, lifecycle.EXPIRED_ON_ARRIVAL):
        assert lifecycle.initial_history(way)[1] in MACHINE.terminal
    for end in (lifecycle.PROMOTED, lifecycle.VERIFIED, lifecycle.FAILED, lifecycle.SUPERSEDED):
        assert lifecycle.initial_history((*start, *lifecycle.APPLIED, *end))[1] in MACHINE.terminal
    assert lifecycle.initial_history((*start, *lifecycle.REFUSED))[1] in MACHINE.terminal


def test_an_illegal_event_is_an_error() -> None:
    with pytest.raises(ValueError, match="no edge persisted"):
        lifecycle.initial_history(("emit", "persisted"))


def test_history_starts_at_the_start() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 3), START_MS)
    history = bench.state(3)["history"]
    assert (history[0]["event"], history[0]["from_state"], history[0]["to_state"]) == (
        "init",
        None,
        "DRAFT",
    )
    for before, after in pairwise(history):
        assert after["seq"] == before["seq"] + 1
        assert after["from_state"] == before["to_state"]
