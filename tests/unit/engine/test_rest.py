"""A task at rest must hear that it is to stop, also when something wakes it at that moment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.engine.memory import MemoryLog
from streams.engine.runner import TaskRunner
from streams.engine.task import Task
from streams.settings import Settings
from tests.toy import ToyProcessor, toy_topics


@pytest.mark.parametrize("turns", range(4))
def test_a_cancellation_that_comes_with_a_wake_is_heard(turns: int, tmp_path: Path) -> None:
    log = MemoryLog(lambda: 0)
    log.create(toy_topics(1))
    settings = Settings.load({}, partitions=1)

    async def seek(_: object) -> None:
        return None

    async def run() -> bool:
        runner = TaskRunner(Task(0, [ToyProcessor()], log, settings, tmp_path, lambda: 0))
        running = asyncio.ensure_future(runner.run(seek))
        while not runner.sought:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        runner.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running], timeout=3)
        heard = running.done()
        running.cancel()
        await runner.close()
        return heard

    assert asyncio.run(run())
