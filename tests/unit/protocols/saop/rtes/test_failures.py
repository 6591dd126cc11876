"""A task that fails too often is reported once to the detectors (4.2, 4.3)."""

from __future__ import annotations

import pytest

from streams.engine.processor import AvroValue
from tests.unit.protocols.saop.rtes.support import Bench, Sent, rewind, transition
from topology.core import LINEAGE_EDGES
from topology.saop import SAOP_TASK_SIGNALS


def fail(bench: Bench, times: int, first: int, here: str = "FAILED") -> list[AvroValue]:
    """The signals that so many failures give rise to, each taken up again before."""
    before = len(failures(bench))
    for n in range(times):
        bench.recorded(transition(first + 2 * n, here, "IN_PROGRESS"))
        bench.recorded(transition(first + 2 * n + 1, "IN_PROGRESS", "FAILED"))
        here = "FAILED"
    return [sent.value for sent in failures(bench)[before:]]


def failures(bench: Bench) -> list[Sent]:
    """Return the signals of failures so far."""
    return [sent for sent in bench.of(SAOP_TASK_SIGNALS) if sent.value["kind"] == "failures"]


def test_the_fifth_failure_is_signalled_once() -> None:
    bench = Bench()
    assert fail(bench, 4, 1, "PENDING") == []
    (signal,) = fail(bench, 1, 50)
    assert fail(bench, 7, 100) == []
    assert signal == {
        "kind": "failures",
        "task_id": "t1",
        "session_id": "s1",
        "failures": 5,
        "threshold": 5,
        "first_sequence": 2,
        "last_sequence": 10,
        "rewind_id": None,
        "enforced": False,
        "at": bench.now,
        "cause": "rtes.raw/0/9",
    }


def test_the_signal_goes_where_the_tasks_turns_are() -> None:
    bench = Bench()
    fail(bench, 5, 1, "PENDING")
    (sent,) = failures(bench)
    assert sent.key == "t1"


def test_the_first_transition_of_a_task_in_a_session_is_signalled() -> None:
    bench = Bench()
    bench.recorded(transition(1, "PENDING", "IN_PROGRESS"))
    bench.recorded(transition(2, "IN_PROGRESS", "COMPLETED"))
    bench.recorded(transition(3, "X", "Y", task="t2", origin="apc"))
    (sent,) = bench.of(SAOP_TASK_SIGNALS)
    assert sent.key == "t1"
    assert sent.value == {
        "kind": "begun",
        "task_id": "t1",
        "session_id": "s1",
        "failures": None,
        "threshold": None,
        "first_sequence": 1,
        "last_sequence": 1,
        "rewind_id": None,
        "enforced": False,
        "at": bench.now,
        "cause": "rtes.raw/0/0",
    }


def test_a_first_transition_that_fails_too_often_gives_both_signals_in_order() -> None:
    bench = Bench(saop_failures=1)
    bench.recorded(transition(1, "IN_PROGRESS", "FAILED"))
    begun, failed = bench.of(SAOP_TASK_SIGNALS)
    assert (begun.value["kind"], failed.value["kind"]) == ("begun", "failures")
    assert begun.id != failed.id


def test_the_limit_is_a_setting() -> None:
    bench = Bench(saop_failures=2)
    (signal,) = fail(bench, 4, 1, "PENDING")
    assert (signal["failures"], signal["threshold"]) == (2, 2)


@pytest.mark.parametrize("cure", ["done", "skipped", "pause", "rewind"])
def test_what_clears_the_count_arms_it_again(cure: str) -> None:
    bench = Bench()
    assert len(fail(bench, 5, 1, "PENDING")) == 1
    bench.recorded(transition(100, "FAILED", "IN_PROGRESS"))
    match cure:
        case "done":
            bench.recorded(transition(101, "IN_PROGRESS", "COMPLETED"))
            bench.recorded(transition(102, "COMPLETED", "PENDING", git="1"))
        case "skipped":
            bench.recorded(transition(101, "IN_PROGRESS", "BLOCKED"))
            bench.recorded(transition(102, "BLOCKED", "SKIPPED"))
            bench.recorded(transition(103, "SKIPPED", "PENDING"))
        case "pause":
            bench.recorded(transition(101, "IN_PROGRESS", "PAUSED"))
            bench.recorded(transition(102, "PAUSED", "IN_PROGRESS"))
            bench.recorded(transition(103, "IN_PROGRESS", "PENDING"))
        case "rewind":
            assert bench.order(rewind(1, "apply", "t1"))["rule"] == "rewind_applied"
            bench.recorded(transition(103, "IN_PROGRESS", "PENDING"))
    assert bench.known_task()["failures"] == 0
    signals = fail(bench, 4, 200, "PENDING")
    assert [signal["kind"] for signal in signals] == []
    (signal,) = fail(bench, 1, 300)
    assert (signal["kind"], signal["failures"]) == ("failures", 5)


def test_a_task_is_part_of_its_session_from_its_first_transition() -> None:
    bench = Bench()
    fail(bench, 2, 1, "PENDING")
    bench.recorded(transition(50, "X", "Y", task="t2", origin="apc"))
    edges = [sent.value for sent in bench.of(LINEAGE_EDGES)]
    assert [(e["from_node"], e["relation"], e["to_node"]) for e in edges] == [
        ("saop:task:t1", "part_of", "saop:session:s1")
    ]
    assert edges[0]["cause"] == "rtes.raw/0/0"
