from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from streams.engine import tasks
from streams.engine.task import Task
from streams.engine.tasks import TaskSet
from streams.engine.worker import READY_FILE, Readiness
from streams.errors import (
    AccessDenied,
    BrokerUnavailable,
    CommitFailed,
    Fenced,
    HeadraceError,
    PositionsLost,
    StoreFailed,
)
from tests.unit.engine.fakes import FakeTask, seek, until


class Host:
    """A task set over fakes.  made: every task, in order.  prepare: called with each new one."""

    def __init__(self, prepare: Callable[[FakeTask], None] = lambda task: None) -> None:
        self.made: list[FakeTask] = []
        self.failures: list[HeadraceError] = []
        self.confirmed = True
        self.asked = 0
        self._prepare = prepare
        self.set = TaskSet(self._make, ["toy.in"])
        self.set.on_failure = self._fail

    def _make(self, number: int) -> Task:
        task = FakeTask(number)
        self._prepare(task)
        self.made.append(task)
        return cast(Task, task)

    async def _fail(self, error: HeadraceError) -> None:
        self.failures.append(error)

    async def confirm(self) -> bool:
        self.asked += 1
        return self.confirmed

    async def assign(self, *numbers: int) -> None:
        await self.set.assigned(numbers, seek, self.confirm)

    async def ready(self, *numbers: int) -> None:
        await until(
            lambda: (
                self.set.runners.keys() == set(numbers)
                and all(r.sought for r in self.set.runners.values())
            )
        )

    def numbers(self) -> list[int]:
        return [task.partition for task in self.made]


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(tasks, "_LONGEST_PAUSE_S", 0.004)


def _has_made(host: Host, count: int) -> bool:
    return len(host.made) == count


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_tasks_that_stay_are_kept_others_are_opened_and_closed() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0, 1)
        await host.ready(0, 1)
        await host.set.park()
        await host.assign(1, 2)
        await host.ready(1, 2)
        assert host.numbers() == [0, 1, 2]
        zero, one, _ = host.made
        assert zero.calls[-1] == "close"
        assert one.calls == ["open", "resume", "resume"]
        assert host.set.runners[1].epoch == 2
        await host.set.close()
        assert all(task.calls[-1] == "close" for task in host.made)
        assert host.set.runners == {}
        assert host.failures == []

    run(test())


def test_a_failed_commit_closes_the_task_and_opens_another() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0)
        await host.ready(0)
        first = host.made[0]
        first.commit_errors = [CommitFailed("x")]
        first.todo = 1
        host.set.runners[0].wake()
        await until(lambda: len(host.made) == 2)
        await host.ready(0)
        assert first.calls[-1] == "close"
        assert host.failures == []
        await host.set.close()

    run(test())


def test_a_failed_commit_halves_the_batches_of_the_next_task() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0)
        await host.ready(0)
        for count in (2, 3):
            task = host.made[-1]
            task.commit_errors = [Fenced("x")]
            task.todo = 1
            host.set.runners[0].wake()
            await until(partial(_has_made, host, count))
            await host.ready(0)
        assert host.made[-1].batch_limit.records(1000) == 250
        await host.set.close()

    run(test())


def test_a_fenced_task_waits_until_the_group_confirms() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0)
        await host.ready(0)
        host.confirmed = False
        first = host.made[0]
        first.commit_errors = [Fenced("x")]
        first.todo = 1
        host.set.runners[0].wake()
        await until(lambda: host.asked > 5)
        assert first.calls[-1] == "close"
        assert len(host.made) == 1
        assert host.set.runners == {}
        host.confirmed = True
        await host.ready(0)
        assert len(host.made) == 2
        await host.set.close()

    run(test())


def test_an_unconfirmed_task_never_opens_once_the_number_is_gone() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0)
        await host.ready(0)
        host.confirmed = False
        host.made[0].commit_errors = [Fenced("x")]
        host.made[0].todo = 1
        host.set.runners[0].wake()
        await until(lambda: host.asked > 2)
        await host.set.park()
        host.confirmed = True
        await host.assign(1)
        await host.ready(1)
        assert host.numbers() == [0, 1]
        await host.set.close()

    run(test())


@pytest.mark.parametrize("error", [CommitFailed, Fenced, StoreFailed, AccessDenied])
def test_what_never_gets_better_stops_the_worker(error: type[HeadraceError]) -> None:
    async def test() -> None:
        host = Host(lambda task: task.open_errors.append(error("x")))
        await host.assign(0)
        await until(lambda: host.failures)
        assert isinstance(host.failures[0], error)
        assert len(host.made) == 21
        assert all(task.calls[-1] == "close" for task in host.made[:-1])
        await host.set.close()
        assert all(task.calls[-1] == "close" for task in host.made)

    run(test())


def test_a_broker_that_is_away_is_waited_for_without_limit() -> None:
    async def test() -> None:
        away = [40]

        def prepare(task: FakeTask) -> None:
            away[0] -= 1
            if away[0] > 0:
                task.open_errors.append(BrokerUnavailable("x"))

        host = Host(prepare)
        await host.assign(0)
        await host.ready(0)
        assert len(host.made) == 40
        assert host.failures == []
        await host.set.close()

    run(test())


def test_a_commit_that_succeeds_starts_the_count_again() -> None:
    async def test() -> None:
        def prepare(task: FakeTask) -> None:
            task.todo = 2
            if len(host.made) < 60:

                def fail_next() -> None:
                    task.commit_errors = [CommitFailed("x")]

                task.after_settling = fail_next

        host = Host(prepare)
        await host.assign(0)
        await until(lambda: len(host.made) == 61 or host.failures)
        assert host.failures == []
        await host.set.close()

    run(test())


def test_lost_positions_stop_the_worker_at_once() -> None:
    async def test() -> None:
        host = Host(lambda task: task.open_errors.append(PositionsLost("x")))
        await host.assign(0)
        await until(lambda: host.failures)
        assert isinstance(host.failures[0], PositionsLost)
        assert len(host.made) == 1
        await host.set.close()

    run(test())


def test_any_other_error_stops_the_worker_and_is_named() -> None:
    async def test() -> None:
        host = Host(lambda task: task.open_errors.append(ZeroDivisionError("odd")))
        await host.assign(0)
        await until(lambda: host.failures)
        assert "ZeroDivisionError" in str(host.failures[0])
        await host.set.close()

    run(test())


def test_an_error_outside_of_the_task_stops_the_worker_too() -> None:
    """A keeper that dies in silence would leave its partition idle for ever."""

    async def test() -> None:
        host = Host()

        def make(number: int) -> Task:
            raise RuntimeError("cannot make it")

        host.set._make = make
        await host.assign(0)
        await until(lambda: host.failures)
        await host.set.close()

        other = Host(lambda task: task.open_errors.append(Fenced("x")))

        async def confirm() -> bool:
            raise RuntimeError("no answer")

        await other.set.assigned([0], seek, confirm)
        await until(lambda: other.failures)
        await other.set.close()

    run(test())


def test_parking_closes_what_cannot_be_kept() -> None:
    async def test() -> None:
        host = Host()
        await host.assign(0)
        await host.ready(0)
        task = host.made[0]
        task.gate = threading.Event()
        task.commit_errors = [CommitFailed("x")]
        task.todo = 1
        host.set.runners[0].wake()
        await until(task.committing.is_set)
        parking = asyncio.ensure_future(host.set.park())
        await until(lambda: not host.set.runners[0].ready)
        task.gate.set()
        await parking
        assert host.set.runners == {}
        await host.assign(0)
        await host.ready(0)
        assert task.calls[-1] == "close"
        assert len(host.made) == 2
        await host.set.close()

    run(test())


def test_a_number_that_comes_back_waits_until_its_former_task_is_closed() -> None:
    async def test() -> None:
        closing, closed = threading.Event(), threading.Event()

        class Slow(FakeTask):
            def close(self) -> None:
                closing.set()
                assert closed.wait(60)
                super().close()

        host = Host()
        slow = Slow(0)
        host.set._make = lambda number: cast(Task, slow)
        await host.assign(0)
        await host.ready(0)
        await host.set.park()
        leaving = asyncio.ensure_future(host.assign(1))
        await until(closing.is_set)
        leaving.cancel()
        await asyncio.wait([leaving])
        host.set._make = host._make
        for _ in range(3):  # each of them is cut short by the next rebalance
            await host.assign(0)
            await asyncio.sleep(0)
            await host.set.park()
            assert host.made == []
        closed.set()
        await host.assign(0)
        await host.ready(0)
        assert slow.calls[-1] == "close"
        await host.set.close()

    run(test())


def test_a_worker_is_ready_when_all_that_it_has_now_is(tmp_path: Path) -> None:
    """A number that was ready once, went and came back is not ready before it has opened anew."""

    async def test() -> None:
        gates: dict[int, threading.Event] = {}

        def prepare(task: FakeTask) -> None:
            if task.partition in gates:
                task.opening = gates[task.partition]

        host, ready = Host(prepare), tmp_path / READY_FILE
        host.set.on_ready = Readiness(host.set, tmp_path)
        await host.assign(0, 1)
        await host.ready(0, 1)
        assert ready.exists()
        await host.set.park()
        await host.assign(0)
        await host.ready(0)
        ready.unlink()
        gates[1] = threading.Event()
        await host.set.park()
        await host.assign(0, 1)
        await until(lambda: host.set.runners.keys() == {0, 1} and host.set.runners[0].sought)
        assert not ready.exists()
        gates[1].set()
        await host.ready(0, 1)
        assert ready.exists()
        await host.set.close()

    asyncio.run(test())
