from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine
from functools import partial
from typing import Any, cast

import pytest

from streams.engine import runner as runner_module
from streams.engine.runner import TaskRunner
from streams.engine.task import Task
from streams.errors import CommitFailed, PositionsLost
from tests.unit.engine.fakes import FakeIds, FakeTask, seek, until


def made(task: FakeTask) -> TaskRunner:
    return TaskRunner(cast(Task, task))


def started(runner: TaskRunner) -> asyncio.Task[None]:
    return asyncio.ensure_future(runner.run(seek))


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_it_opens_resumes_seeks_and_works() -> None:
    async def test() -> None:
        task = FakeTask(todo=2)
        runner = made(task)
        running = started(runner)
        await until(lambda: runner.commits == 2)
        assert runner.ready
        assert runner.sought
        assert runner.epoch == 1
        assert task.calls[:2] == ["open", "resume"]
        assert task.calls.count("commit") == task.calls.count("settled") == 2
        assert await runner.park()
        assert running.cancelled()
        await runner.close()
        assert task.calls[-1] == "close"

    run(test())


def test_the_next_cycle_is_decided_while_one_commits_and_no_more() -> None:
    async def test() -> None:
        task = FakeTask(todo=3)
        task.gate = threading.Event()
        runner = made(task)
        started(runner)
        await until(lambda: task.calls.count("decide") == 2)
        await asyncio.sleep(0)
        assert task.calls.count("submit") == 1
        task.gate.set()
        await until(lambda: runner.commits == 3)
        await runner.park()
        await runner.close()

    run(test())


def test_copies_are_read_on_before_a_cycle_that_may_ask_them() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.fresh = False
        runner = made(task)
        started(runner)
        await until(lambda: runner.commits == 1)
        assert task.calls[2:4] == ["freshen", "decide"]
        await runner.park()
        await runner.close()

    run(test())


def test_records_wait_for_a_registry_that_is_away() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.ids = FakeIds()
        runner = made(task)
        started(runner)
        await until(task.ids.tried.is_set)
        assert "decide" not in task.calls
        task.ids.back.set()
        await until(lambda: runner.commits == 1)
        await runner.park()
        await runner.close()

    run(test())


def test_ids_that_stay_unknown_are_asked_for_once_before_a_cycle() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.ids = FakeIds()
        task.ids.forgetful = True
        task.ids.back.set()
        runner = made(task)
        started(runner)
        await until(lambda: runner.commits == 1)
        await runner.park()
        await runner.close()

    run(test())


def test_a_task_that_waits_for_the_registry_can_be_parked() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.ids = FakeIds()
        runner = made(task)
        started(runner)
        await until(task.ids.tried.is_set)
        assert await runner.park()
        await runner.close()
        assert "decide" not in task.calls

    run(test())


def test_it_wakes_when_something_is_put(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "_IDLE_S", 3600.0)  # else it would look by itself

    async def test() -> None:
        task = FakeTask()
        runner = made(task)
        started(runner)
        await until(lambda: runner.sought)

        def committed(count: int) -> bool:
            return runner.commits == count

        for n in range(1, 20):
            task.todo = 1
            runner.wake()
            await until(partial(committed, n))
        await runner.park()
        await runner.close()

    run(test())


def test_parking_in_mid_commit_keeps_its_outcome() -> None:
    async def test() -> None:
        task = FakeTask(todo=2)
        task.gate = threading.Event()
        runner = made(task)
        started(runner)
        await until(task.committing.is_set)
        parking = asyncio.ensure_future(runner.park())
        await until(lambda: not runner.ready)
        assert not parking.done()
        task.gate.set()
        assert await parking
        assert task.calls.count("commit") == task.calls.count("settled") == runner.commits == 1
        running = started(runner)
        await until(lambda: runner.epoch == 2)
        assert task.calls.count("open") == 1
        assert task.calls.count("resume") == 2
        await runner.park()
        assert running.done()
        await runner.close()

    run(test())


def test_a_park_that_is_cancelled_too_loses_nothing() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.gate = threading.Event()
        runner = made(task)
        started(runner)
        await until(task.committing.is_set)
        parking = asyncio.ensure_future(runner.park())
        await until(lambda: not runner.ready)
        parking.cancel()
        await asyncio.wait([parking])
        task.gate.set()
        assert await runner.park()
        assert runner.commits == 1
        await runner.close()

    run(test())


def test_parking_says_when_the_commit_in_flight_fails() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.gate = threading.Event()
        task.commit_errors = [CommitFailed("x")]
        runner = made(task)
        started(runner)
        await until(task.committing.is_set)
        parking = asyncio.ensure_future(runner.park())
        task.gate.set()
        assert not await parking
        assert runner.commits == 0
        await runner.close()
        assert "settled" not in task.calls

    run(test())


def test_what_was_still_opening_cannot_be_parked() -> None:
    async def test() -> None:
        task = FakeTask()
        task.opening = threading.Event()
        runner = made(task)
        started(runner)
        await until(lambda: "open" in task.calls)
        assert not await runner.park()
        closing = asyncio.ensure_future(runner.close())
        await until(task.stopping.is_set)
        task.opening.set()
        await closing
        assert task.calls == ["open", "close"]

    run(test())


def test_a_commit_that_fails_while_its_task_is_closed_is_no_unseen_error() -> None:
    unseen: list[dict[str, Any]] = []

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        task = FakeTask(todo=1)
        task.gate = threading.Event()
        task.commit_errors = [CommitFailed("x")]
        runner = made(task)
        running = started(runner)
        await until(task.committing.is_set)
        running.cancel()
        closing = asyncio.ensure_future(runner.close())
        await until(task.stopping.is_set)
        task.gate.set()
        await closing
        assert task.calls[-1] == "close"

    run(test())
    gc.collect()
    assert unseen == []


def test_the_error_of_a_commit_or_of_opening_comes_out() -> None:
    async def test() -> None:
        failing = FakeTask(todo=1)
        failing.commit_errors = [CommitFailed("x")]
        runner = made(failing)
        with pytest.raises(CommitFailed):
            await runner.run(seek)
        await runner.close()
        lost = FakeTask()
        lost.open_errors = [PositionsLost("x")]
        runner = made(lost)
        with pytest.raises(PositionsLost):
            await runner.run(seek)
        await runner.close()
        assert lost.calls == ["open", "close"]

    run(test())


def test_due_timers_fire_with_nothing_in_flight_even_when_busy() -> None:
    async def test() -> None:
        task = FakeTask(todo=1_000_000)
        runner = made(task)
        started(runner)
        await until(lambda: runner.commits > 3)
        task.due, task.limit = [1, 2], 5
        await until(lambda: task.calls.count("fire") == 2)
        assert runner.commits > 3
        await runner.park()
        await runner.close()

    run(test())


def test_ends_are_asked_for_off_the_tasks_thread() -> None:
    async def test() -> None:
        task = FakeTask(todo=1)
        task.gate = threading.Event()
        task.needs_end_offsets = True
        runner = made(task)
        started(runner)
        await until(lambda: "ask" in task.calls)
        assert "commit" not in task.calls
        task.needs_end_offsets = False
        task.gate.set()
        await until(lambda: runner.commits == 1)
        await runner.park()
        await runner.close()

    run(test())


def test_a_task_that_closes_badly_still_gives_its_thread_back() -> None:
    class Bad(FakeTask):
        def close(self) -> None:
            raise RuntimeError("x")

    async def test() -> None:
        runner = made(Bad())
        with pytest.raises(RuntimeError):
            await runner.close()
        with pytest.raises(RuntimeError, match="shutdown"):
            runner._thread.submit(print)

    run(test())
