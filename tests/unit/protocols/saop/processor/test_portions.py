"""Large turns that were held together are written in portions, and nothing else changes."""

from __future__ import annotations

import pytest

from streams.engine.work import STEP_BYTES
from streams.protocols.saop.processor import journal
from streams.protocols.saop.processor.journal import BUDGET_BYTES, WRITE, WriteBudget
from streams.protocols.saop.processor.ordering import ReadyTurn
from tests.unit.protocols.saop.processor.support import START_MS, Bench, envelope, signal
from topology.retention import MIB
from topology.saop import SAOP_LOG, SAOP_TURNS_HELD, SAOP_VERDICTS

SIZE = 10_000


@pytest.fixture
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the turns below at a time."""
    monkeypatch.setattr(journal, "BUDGET_BYTES", 2 * journal.size_of(SIZE + 200, b"t1"))


def large(index: int, thought: str = "x") -> dict[str, object]:
    return envelope(index, thought=thought * SIZE)


@pytest.mark.usefixtures("_small_portions")
def test_a_long_run_is_written_two_turns_at_a_time() -> None:
    bench = Bench()
    assert {bench.rule(large(index)) for index in range(1, 6)} == {"turn_held"}
    assert bench.rule(large(0)) == "turn_logged"
    assert bench.logged() == [0, 1]
    assert [kind for _, kind, _ in bench.timers if kind == WRITE] == [WRITE]
    bench.fire(bench.now)
    assert bench.logged() == [0, 1, 2, 3]
    bench.fire(bench.now)
    assert bench.logged() == [0, 1, 2, 3, 4, 5]
    assert not bench.timers
    assert not bench.rows(SAOP_TURNS_HELD)
    assert {value["at"] for value in bench.log()} == {START_MS}


@pytest.mark.usefixtures("_small_portions")
def test_what_waits_to_be_written_is_decided_already() -> None:
    bench = Bench()
    for index in range(1, 8):
        bench.rule(large(index))
    bench.rule(large(0))
    assert bench.logged() == [0, 1]
    assert bench.rule(large(5)) == "turn_duplicate"
    assert bench.rule(large(6, "y")) == "turn_conflict"
    assert bench.logged() == [0, 1, 2, 3, 4, 5]
    assert bench.judge(large(8))["disposition"] == "logged"
    assert bench.rule(large(10)) == "turn_held"
    bench.advance(0)
    assert bench.logged() == list(range(9))
    assert [value["held"] for value in bench.log()] == [False, *[True] * 7, False]
    bench.advance(60_000)
    assert bench.gaps() == [(10, 9, 9, "time")]
    assert not bench.rows(SAOP_TURNS_HELD)


@pytest.mark.usefixtures("_small_portions")
def test_timers_of_one_tick_share_a_portion() -> None:
    bench = Bench()
    for task in ("a", "b", "c"):
        for index in (1, 2):
            bench.rule(envelope(index, task=task, thought="x" * SIZE))
    assert len(bench.of(SAOP_LOG, bench.fire(bench.now + 60_000))) == 2
    bench.advance(0)
    assert [bench.logged(task) for task in ("a", "b", "c")] == [[1, 2]] * 3
    assert {value["at"] for value in bench.log("c")} == {START_MS + 60_000}
    assert not bench.timers


@pytest.mark.usefixtures("_small_portions")
def test_a_signal_writes_on() -> None:
    bench = Bench()
    for index in (3, 2, 1, 0):
        bench.rule(large(index))
    assert bench.logged() == [0, 1]
    bench.decide(bench.signal(signal("rewound")))
    assert bench.logged() == [0, 1, 2, 3]


def test_64_turns_of_a_megabyte_pass() -> None:
    bench = Bench()
    for index in range(64, 0, -1):
        assert bench.rule(envelope(index, thought=str(index % 10) * MIB)) == "turn_held"
    steps = [bench.decide(bench.turn(envelope(0)))]
    while bench.timers:
        steps.append(bench.fire(bench.now))
    assert bench.logged() == list(range(65))
    assert bench.gaps() == []
    assert [value["turn"]["content"]["thought"][:2] for value in bench.log()][1:4] == [
        "11",
        "22",
        "33",
    ]
    for sent in steps:
        size = sum(len(str(one.value)) for one in sent if one.topic in (SAOP_LOG, SAOP_VERDICTS))
        assert size < STEP_BYTES


def test_a_portion_takes_one_turn_at_least() -> None:
    def release(size: int) -> ReadyTurn:
        return ReadyTurn(0, True, None, 0, size)

    portion = WriteBudget()
    assert portion.take((release(BUDGET_BYTES + 1), release(1))) == 1
    assert portion.take((release(1),)) == 0
    portion = WriteBudget(10)
    assert portion.take((release(4), release(6), release(0))) == 3
    assert portion.take((release(1),)) == 0
