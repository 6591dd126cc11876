from __future__ import annotations

from typing import Any, cast

from streams.engine.gate import Gate
from streams.engine.log import Log
from streams.engine.records import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Bench:
    """A gate over two inputs, of which `written` and `decided` are what the test says."""

    def __init__(self) -> None:
        self.now = 1000
        self.written = {A: 5, B: 7}
        self.decided = {A: 5, B: 7}
        self.gate = Gate(cast(Log, self), [A, B], lambda: self.now)

    def high_watermarks(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        self.now += 3  # while the question is asked
        return {tp: self.written[tp] for tp in tps}

    def ends(self, tps: Any) -> None:
        raise AssertionError("an open transaction keeps the last stable offset back")

    def opens_to(self, due: int | None) -> int | None:
        return self.gate.firing_limit(due, self.decided.__getitem__)

    def waits(self, due: int | None) -> dict[TopicPartition, int]:
        return self.gate.waits_ms(due, self.decided.__getitem__)


def test_ends_are_wanted_once_a_timer_is_due() -> None:
    bench = Bench()
    assert not bench.gate.needs_end_offsets(None)
    assert not bench.gate.needs_end_offsets(1001)
    assert bench.gate.needs_end_offsets(1000)
    bench.gate.read_end_offsets()
    assert not bench.gate.needs_end_offsets(1000)
    assert bench.gate.needs_end_offsets(1002), "it became due while the question was asked"


def test_timers_fire_up_to_the_clock_before_the_question() -> None:
    bench = Bench()
    assert bench.opens_to(1000) is None
    bench.gate.read_end_offsets()
    assert bench.opens_to(900) == bench.opens_to(1000) == 1000
    assert bench.opens_to(1001) is bench.opens_to(None) is None


def test_it_opens_when_all_that_was_written_is_decided_and_follows_no_growth() -> None:
    bench = Bench()
    bench.decided = {A: 4, B: 6}
    bench.gate.read_end_offsets()
    bench.written = {A: 50, B: 70}
    assert bench.opens_to(1000) is None
    bench.decided[A] = 5
    assert bench.opens_to(1000) is None
    bench.decided[B] = 8
    assert bench.opens_to(1000) == 1000


def test_it_says_for_how_long_a_due_timer_has_waited_for_which_input() -> None:
    bench = Bench()
    bench.decided[B] = 6
    assert bench.waits(1000) == {}
    bench.gate.read_end_offsets()
    bench.now = 3500
    assert bench.waits(1000) == {B: 2500}
    assert bench.waits(1001) == bench.waits(None) == {}
    bench.now = 400  # the clock was set back
    assert bench.waits(1000) == {B: 0}
    bench.decided[B] = 7
    assert bench.waits(1000) == {}
