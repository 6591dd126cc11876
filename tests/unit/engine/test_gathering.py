"""Records that are in no hurry wait a moment for others, so that one commit serves more of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord
from streams.engine.runner import TaskRunner
from streams.engine.task import Task
from streams.settings import Settings
from tests.toy import INPUT, SECOND, ToyProcessor, toy_topics
from tests.unit.engine.fakes import FakeTask, seek, until
from topology.declarations import Topic
from topology.processors import ALL


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Task]:
    """Two processors: of INPUT, which gathers for 40 ms, and of SECOND, which does not."""
    log = MemoryLog(lambda: 0)
    log.create(toy_topics(1))
    patient, other = ToyProcessor(), ToyProcessor()
    patient.declaration = replace(patient.declaration, linger_ms=40)
    other.declaration = replace(other.declaration, name="other", inputs=(SECOND,), tables=())
    task = Task(0, [patient, other], log, Settings.load({}, partitions=1), tmp_path, lambda: 0)
    task.open()
    task.resume()
    yield task
    task.close()


def put(task: Task, topic: Topic, count: int = 1) -> None:
    (tp,) = [tp for tp, t in task.tps.items() if t is topic]
    first = task.next_fetch_offset(tp)
    task.put(tp, [LogRecord(*tp, first + n, 0, b"k", b"v") for n in range(count)])


def test_records_without_hurry_may_wait(task: Task) -> None:
    assert task.linger_s() == 0.0, "nothing is in hand"
    put(task, INPUT)
    assert task.linger_s() == 0.04


def test_they_wait_no_more_when_there_is_other_work(task: Task) -> None:
    put(task, INPUT)
    put(task, SECOND)
    assert task.linger_s() == 0.0


def test_many_wait_for_no_others(task: Task) -> None:
    put(task, INPUT, 99)
    assert task.linger_s() == 0.04
    put(task, INPUT)
    assert task.linger_s() == 0.0


def test_a_runner_waits_as_long_and_no_longer() -> None:
    async def test() -> None:
        fake = FakeTask(todo=1)
        fake.patience_s = 0.2
        runner = TaskRunner(cast(Task, fake))
        began = time.monotonic()
        running = asyncio.ensure_future(runner.run(seek))
        await until(lambda: runner.sought)
        for _ in range(5):
            runner.wake()  # what comes meanwhile does not make it wait anew
            await asyncio.sleep(0.01)
        await until(lambda: runner.commits == 1)
        assert time.monotonic() - began >= 0.2
        fake.todo = 1
        fake.patience_s = 0.0
        runner.wake()
        await until(lambda: runner.commits == 2)
        assert await runner.park()
        assert running.cancelled()
        await runner.close()

    asyncio.run(test())


def test_a_hurry_ends_the_wait() -> None:
    async def test() -> None:
        fake = FakeTask(todo=1)
        fake.patience_s = 3600.0
        runner = TaskRunner(cast(Task, fake))
        running = asyncio.ensure_future(runner.run(seek))
        await until(lambda: runner.sought)
        await asyncio.sleep(0.05)
        assert "decide" not in fake.calls
        fake.patience_s = 0.0
        runner.wake()
        await until(lambda: runner.commits == 1)
        assert await runner.park()
        assert running.cancelled()
        await runner.close()

    asyncio.run(test())


def test_no_input_that_a_sender_waits_for_gathers() -> None:
    """Commands are answered at once; events and sums may lie for a moment."""
    for processor in ALL:
        if any(t.kind == "command" for t in processor.inputs):
            assert processor.linger_ms <= 10, processor.name
