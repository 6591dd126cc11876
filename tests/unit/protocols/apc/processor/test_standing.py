"""Who has received: places are taken once, per generation and origin, and never given back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.apc.processor.packets import (
    Bench,
    Json,
    ack,
    at,
    at_task,
    pid,
    retraction,
    transfer,
)

FULL = "top_k_exhausted"


def full() -> Bench:
    """sw-b and sw-c hold the two places of generation 14."""
    bench = Bench()
    bench.give(transfer(1), 0)
    bench.give(transfer(2, "sw-c"), 1)
    return bench


def test_the_row() -> None:
    bench = full()
    bench.give(transfer(3), 2)
    bench.give(transfer(4, "sw-d"), 3)
    bench.give(transfer(5, "sw-d", policy={"top_k": 3}), 4)
    bench.give(transfer(6, "sw-e"), 5)
    ((key, row),) = bench.rows_of_throttling().items()
    assert key == "sess-01/run-01/14/px/sw-a"
    assert row == {
        "session_id": "sess-01",
        "run_id": "run-01",
        "generation": 14,
        "protocol_id": "px",
        "from_swarm": "sw-a",
        "window": "generation_11_20",
        "receivers": [
            {"to_swarm": "sw-b", "packet_id": pid(1), "at": at(0)},
            {"to_swarm": "sw-c", "packet_id": pid(2), "at": at(1)},
        ],
        "last_top_k": 2,
        "accepted": 3,
        "rejected": {FULL: 2, "top_k_over_limit": 1},
        "updated_at": at(5),
    }


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (transfer(9), "accepted"),
        (transfer(9, "sw-c"), "accepted"),
        (transfer(9, "sw-d"), FULL),
        (transfer(9, "sw-d", generation=15), "accepted"),
        (transfer(9, "sw-d", generation=13), "accepted"),
        (transfer(9, "sw-d", payload={"protocol_id": "py"}), "accepted"),
        (transfer(9, "sw-d", payload={"from_swarm": "sw-z"}), "accepted"),
        (at_task(transfer(9, "sw-d"), run_id="run-02"), "accepted"),
        (at_task(transfer(9, "sw-d"), task_id="task-02"), FULL),
        (transfer(9, "sw-d", session="sess-02"), "accepted"),
        (transfer(9, "sw-d", sender="other", swarm="sw-q"), FULL),
        (transfer(9, "sw-d", phase="CONVERGENCE"), FULL),
    ],
)
def test_what_a_place_belongs_to(made: Json, rule: str) -> None:
    assert full().verdict(made)["rule"] == rule


def test_a_smaller_top_k_counts_against_the_packet_at_hand() -> None:
    bench = Bench()
    bench.give(transfer(1))
    fact = bench.verdict(transfer(2, "sw-c", policy={"top_k": 1}))
    assert (fact["rule"], fact["throttle"]["places_left"]) == (FULL, 0)
    fact = bench.verdict(transfer(3, policy={"top_k": 1}))
    assert (fact["rule"], fact["throttle"]["places_left"]) == ("accepted", 0)
    assert bench.verdict(transfer(4, "sw-c"))["throttle"]["places_left"] == 0


def test_retraction_refusal_and_expiry_free_no_place() -> None:
    bench = Bench()
    asks: dict[str, Any] = {"routing": {"requires_ack": True, "ttl_ms": 50}, "to": ("a",)}
    bench.give(transfer(1, "sw-b", **asks), 0)
    bench.give(ack(5, 1, "a", "REJECTED"), 1)
    bench.give(transfer(2, "sw-c", **asks), 2)
    bench.give(retraction(6, 2), 3)
    assert bench.verdict(transfer(3, "sw-d"), 4)["rule"] == FULL
    bench.give(transfer(7, "sw-e", generation=15, **asks), 10)
    bench.advance_to(bench.now + 60)
    fact = bench.verdict(transfer(8, "sw-f", generation=15, policy={"top_k": 1}))
    assert fact["rule"] == FULL


def test_a_packet_that_comes_too_late_takes_no_place() -> None:
    bench = Bench()
    fact = bench.verdict(transfer(1, expires_at="2025-01-01T00:00:00Z"))
    assert (fact["verdict"], fact["state"]) == ("accepted", "EXPIRED")
    assert (fact["throttle"]["decided_by"], fact["throttle"]["places_left"]) == ("accepted", 2)
    assert bench.rows_of_throttling() == {}
    assert bench.deltas() == []


def test_a_mismatch_is_counted_under_the_protocol_of_the_payload() -> None:
    bench = Bench()
    bench.give(transfer(1, lineage={"protocol_id": "py"}))
    assert list(bench.rows_of_throttling()) == ["sess-01/run-01/14/px/sw-a"]


def test_packets_of_one_batch_see_each_other() -> None:
    bench = Bench()
    batch = [bench.message(transfer(n, f"sw-{n}")) for n in range(1, 5)]
    rules = [fact["rule"] for fact in bench.facts(bench.decide(*batch))]
    assert rules == ["accepted", "accepted", FULL, FULL]
