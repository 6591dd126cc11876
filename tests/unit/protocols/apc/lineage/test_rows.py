"""Deltas add up in the row of their run and in the total."""

from __future__ import annotations

from typing import Any

from schemas import to_json
from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.rows import evolve_run, evolve_total, run_key, total_key
from tests.unit.protocols.apc.lineage.support import (
    NANO,
    START_MS,
    SUMS,
    Bench,
    arbitration,
    delta,
)
from topology.apc import APC_LINEAGE_TABLE


def worked_example() -> Bench:
    """Task A has 5 transfers and two EVALs, task B has 3 transfers; 6 of the 8 are accepted."""
    bench = Bench()
    for n in range(1, 6):
        bench.give(transfer(n, "A", accepted=int(n > 1)))
    for n in range(6, 9):
        bench.give(transfer(n, "B", accepted=int(n > 6)))
    bench.give(evaluated(9, 5, 3 * NANO, drift_weight=5, drift_sum_nano=NANO))
    bench.give(evaluated(10, 0, NANO // 2))
    return bench


def transfer(n: int, task: str, accepted: int = 1) -> AvroValue:
    first = n in (1, 6)
    return delta(n, task_id=task, packets=1, transfers=1, accepted=accepted, tasks=int(first))


def evaluated(n: int, weight: int, outcome: int, **drift: Any) -> AvroValue:
    return delta(n, "eval", outcome_weight=weight, outcome_sum_nano=outcome, **drift)


FIGURES = ("acceptance_rate", "avg_outcome", "avg_drift_risk", "effectiveness_score")


def test_the_worked_example() -> None:
    bench = worked_example()
    total = bench.total()
    assert [total[name] for name in FIGURES] == [0.75, 0.7, 0.2, 0.74]
    assert (total["transfers"], total["accepted"], total["tasks"]) == (8, 6, 2)
    before = {name: total[name] for name in SUMS}

    late: dict[str, Any] = {"outcome_weight": 3, "outcome_sum_nano": 900_000_000}
    bench.give(delta(11, "eval", task_id="B", **late))
    total = bench.total()
    assert [total[name] for name in FIGURES] == [0.75, 0.55, 0.2, 0.6875]

    back: dict[str, Any] = {name: -by for name, by in late.items()}
    bench.give(delta(12, "removal", task_id="B", **back))
    total = bench.total()
    assert [total[name] for name in FIGURES] == [0.75, 0.7, 0.2, 0.74]
    assert {name: total[name] for name in SUMS} == before
    assert {name: bench.run()[name] for name in SUMS} == before


def test_a_row_in_full() -> None:
    bench = Bench()
    members: dict[str, Any] = {"packets": 1, "transfers": 3, "accepted": 1, "cross": 1, "tasks": 1}
    bench.give(delta(7, outcome_weight=3, outcome_sum_nano=2 * NANO, **members))
    sums = {
        **members,
        "outcome_weight": 3,
        "outcome_sum_nano": 2 * NANO,
        "drift_weight": 0,
        "drift_sum_nano": 0,
    }
    row = {
        "protocol_id": "px",
        **sums,
        "run_count": 1,
        "acceptance_rate": 0.333333,
        "avg_outcome": 0.666667,
        "avg_drift_risk": None,
        "effectiveness_score": 0.4,
        "blocked": False,
        "blocked_reasons": [],
        "blocked_since": None,
        "last_seen_at": "2026-01-01T00:00:00.007Z",
        "version": 1,
    }
    assert to_json(APC_LINEAGE_TABLE.record, bench.total()) == {**row, "run_id": None}
    assert to_json(APC_LINEAGE_TABLE.record, bench.run()) == {**row, "run_id": "run-01"}


def test_each_run_has_its_row_and_the_total_has_all() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=2, accepted=1), delta(2, transfers=1, run_id="run-02"))
    bench.give(delta(3, transfers=1, protocol_id="py"))
    assert (bench.run()["transfers"], bench.run("run-02")["transfers"]) == (2, 1)
    total = bench.total()
    assert (total["transfers"], total["version"], total["run_count"]) == (3, 2, 2)
    assert bench.total("py")["transfers"] == 1


def test_a_run_counts_while_it_has_transfers() -> None:
    bench = Bench()
    bench.give(delta(1, "lineage", packets=1))
    assert (bench.total()["run_count"], bench.run()["run_count"]) == (0, 0)
    bench.give(delta(2, packets=1, transfers=1), delta(3, packets=1, transfers=1))
    bench.give(delta(4, packets=1, transfers=1, run_id="run-02"))
    assert (bench.total()["run_count"], bench.run()["run_count"]) == (2, 1)
    bench.give(delta(5, "removal", packets=-1, transfers=-1))
    assert bench.total()["run_count"] == 2
    bench.give(delta(6, "removal", packets=-1, transfers=-1))
    assert (bench.total()["run_count"], bench.run()["run_count"]) == (1, 0)


def test_a_row_whose_sums_are_all_0_stays() -> None:
    bench = Bench()
    bench.give(delta(1, packets=1, transfers=1, tasks=1))
    bench.give(delta(2, "removal", packets=-1, transfers=-1, tasks=-1))
    for row in (bench.total(), bench.run()):
        assert not any(row[name] for name in (*SUMS, "run_count", "effectiveness_score"))
        assert (row["version"], row["last_seen_at"]) == (2, START_MS + 1)


def test_last_seen_is_the_latest_time_of_a_packet_that_bears_the_protocol() -> None:
    bench = Bench()
    bench.give(delta(1, "eval", outcome_weight=1))
    assert bench.total()["last_seen_at"] is None
    bench.give(delta(5, packets=1), delta(3, packets=1, run_id="run-02"))
    bench.give(delta(9, "removal", packets=-1))
    assert bench.total()["last_seen_at"] == START_MS + 5
    assert bench.run()["last_seen_at"] == START_MS + 5
    assert bench.run("run-02")["last_seen_at"] == START_MS + 3


def test_only_the_total_says_whether_a_protocol_is_blocked() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=5))
    assert bench.total()["blocked"]
    run = bench.run()
    standing = [run[name] for name in ("blocked", "blocked_reasons", "blocked_since")]
    assert standing == [False, [], None]


def test_an_arbitration_changes_no_row() -> None:
    bench = Bench()
    bench.give(arbitration(1))
    assert bench.bytes() == {}
    bench.give(delta(2, transfers=1))
    before = bench.bytes()
    bench.give(arbitration(3))
    assert bench.bytes() == before


def test_ids_with_slashes_do_not_meet() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=1, protocol_id="a/b"))
    bench.give(delta(2, transfers=2, protocol_id="a", run_id="b"))
    assert set(bench.bytes()) == {"a%2Fb", "a%2Fb/run-01", "a", "a/b"}
    assert total_key("a/b") != run_key("a", "b")
    assert (bench.total("a/b")["transfers"], bench.total("a")["transfers"]) == (1, 2)


def test_rows_are_not_changed_in_place() -> None:
    first = evolve_total(None, delta(1, packets=1, transfers=1), 1)
    copy = dict(first)
    evolve_total(first, delta(2, transfers=1), 0)
    evolve_run(first, delta(3, transfers=1))
    assert first == copy
