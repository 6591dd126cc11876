"""A clock that takes a step forward on only as far as the log bears it out."""

from __future__ import annotations

import logging

import pytest

from streams.engine.clock import WorkerClock, monotonic_ms, wall_ms

HOUR = 3_600_000
START = 1_767_225_600_000


class Machine:
    """Its wall clock, and what has passed."""

    def __init__(self) -> None:
        self.passed, self.off = 5000, 0
        self.clock = WorkerClock(lambda: START + self.passed + self.off, lambda: self.passed)

    def now(self, passes_ms: int = 0) -> int:
        """The clock after a while, less the right time."""
        self.passed += passes_ms
        return self.clock() - START - self.passed


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_it_goes_as_the_machine_does(machine: Machine) -> None:
    assert [machine.now(ms) for ms in (0, 1, 700, HOUR)] == [0, 0, 0, 0]


def test_a_step_forward_is_not_taken_on(machine: Machine) -> None:
    machine.off = 3 * HOUR
    assert [machine.now(ms) for ms in (0, 10, HOUR)] == [0, 0, 0]


def test_a_step_forward_is_taken_on_as_far_as_the_log_has_come(machine: Machine) -> None:
    machine.off = 3 * HOUR
    machine.clock.observe_append_time(START + machine.passed + HOUR)
    assert [machine.now(ms) for ms in (0, 10, HOUR)] == [HOUR, HOUR, HOUR]


def test_a_step_back_is_taken_on_and_what_follows_is_no_step_forward(machine: Machine) -> None:
    machine.off = -3 * HOUR
    assert machine.now() == -3 * HOUR
    machine.off = 0
    assert machine.now(10) == -3 * HOUR  # the log is asked first
    machine.clock.observe_append_time(START + machine.passed)
    assert machine.now(10) == 0


def test_a_step_back_never_leads_to_before_the_log(machine: Machine) -> None:
    machine.clock.observe_append_time(START + machine.passed - 200)
    machine.off = -3 * HOUR
    assert [machine.now(ms) for ms in (0, 10, HOUR)] == [-200, -200, -200]


def test_records_of_a_backlog_change_nothing(machine: Machine) -> None:
    machine.clock.observe_append_time(START - 9 * HOUR)
    assert machine.now(10) == 0


def test_each_step_is_said_once(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    def messages_of(step: int) -> list[str]:
        caplog.clear()
        machine.off = step
        for _ in range(3):
            machine.now(10)
        return caplog.messages

    with caplog.at_level(logging.WARNING):
        assert messages_of(400) == []
        (ahead,) = messages_of(HOUR)
        assert "+3600000 ms" in ahead
        assert messages_of(0) == []
        (back,) = messages_of(-HOUR)
        assert "-3600000 ms" in back


def test_the_clocks_of_this_machine_go_on() -> None:
    clock = WorkerClock()
    before, passed = wall_ms(), monotonic_ms()
    assert before - 5 <= clock() <= wall_ms() + 5
    assert monotonic_ms() >= passed
