"""The tasks of one worker: opened, parked and closed as the group assigns partition numbers.

A task that fails is closed and opened again from the log, after a growing pause.  A fenced
one waits until the group has confirmed that this worker still owns the partition, so that a
process that wakes from a long sleep cannot fence the rightful owner in turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from streams.engine.batch import BatchLimit
from streams.engine.mac_errors import MacKeyMissing, MacMissing, PositionsRefused
from streams.engine.metrics import TaskMeasurements
from streams.engine.records import TopicPartition
from streams.engine.runner import Seek, TaskRunner
from streams.engine.task import Task
from streams.errors import (
    BrokerRefuses,
    BrokerUnavailable,
    CommitFailed,
    Fenced,
    HeadraceError,
    RestoreStalled,
    StoreFailed,
)
from streams.telemetry.logs import fields

log = logging.getLogger(__name__)

Confirm = Callable[[], Awaitable[bool]]
_REOPENABLE = (Fenced, CommitFailed, BrokerUnavailable, RestoreStalled, StoreFailed)
"""Errors that opening again can cure.  All others stop the worker."""
_KEPT_CLOSED = (MacMissing, MacKeyMissing, PositionsRefused)
"""Errors of forged rows and of missing keys: the worker keeps its other tasks, and tries again."""
_LONGEST_PAUSE_CLOSED_S = 30.0
_MAX_FAILURES = 20
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


class TaskSet:
    """The tasks that this worker owns, by partition number.

    make: builds the task of a number.  topics: full names of all inputs.
    """

    def __init__(self, make: Callable[[int], Task], topics: Collection[str]) -> None:
        self.runners: dict[int, TaskRunner] = {}
        self.topics = frozenset(topics)
        self.on_failure: Callable[[HeadraceError], Awaitable[None]] | None = None
        self.on_ready: Callable[[int], None] | None = None
        self.on_reopen: Callable[[HeadraceError], None] | None = None
        self._make = make
        self._supervisors: dict[int, asyncio.Task[None]] = {}
        self._closing: dict[int, asyncio.Future[None]] = {}
        self._batch_limits: dict[int, BatchLimit] = {}
        self._generation = 0
        self.assignments = 0

    @property
    def numbers(self) -> frozenset[int]:
        """Return the numbers that the group has assigned."""
        return frozenset(self._supervisors)

    def figures(self) -> list[TaskMeasurements]:
        """Return the tasks' measurements; any thread may call it."""
        return [runner.task.measure(runner.sought) for runner in list(self.runners.values())]

    async def assigned(self, numbers: Collection[int], seek: Seek, confirm: Confirm) -> None:
        """Resume the tasks of numbers that stay, open those of new ones, close the others."""
        self._generation += 1
        lost = [self.runners.pop(n) for n in set(self.runners) - set(numbers)]
        await asyncio.gather(*[self._close(runner) for runner in lost])
        log.info("assigned %s, kept %s", sorted(numbers), sorted(self.runners))
        for number in sorted(numbers):
            self._supervisors[number] = asyncio.ensure_future(self._keep(number, seek, confirm))
        self.assignments += 1

    async def park(self) -> None:
        """Stop all tasks before a rebalance, with nothing in flight.

        A task that cannot be parked is closed, without waiting: all members would wait for
        one task that is opening.
        """
        self._generation += 1
        await self._stop_supervisors()
        numbers = list(self.runners)
        parked = await asyncio.gather(*[self.runners[n].park() for n in numbers])
        for number, ok in zip(numbers, parked, strict=True):
            if not ok:
                self._begin_close(self.runners.pop(number))

    async def close(self) -> None:
        """Finish commits in flight and close all tasks."""
        await self.park()
        runners, self.runners = self.runners, {}
        await asyncio.gather(*[self._close(runner) for runner in runners.values()])
        await asyncio.gather(*[self._wait_closed(number) for number in list(self._closing)])

    async def _stop_supervisors(self) -> None:
        keepers, self._supervisors = list(self._supervisors.values()), {}
        for runner in self.runners.values():
            runner.ready = runner.sought = False
        for keeper in keepers:
            keeper.cancel()
        if keepers:
            await asyncio.wait(keepers)

    async def _keep(self, number: int, seek: Seek, confirm: Confirm) -> None:
        """Run the task of this number until the assignment ends, or the worker must stop."""
        try:
            await self._reopen(number, seek, confirm)
        except HeadraceError as exc:
            await self._fail(exc)
        except Exception as exc:
            log.exception("task %d failed", number, extra=fields(task=number))
            await self._fail(HeadraceError(f"task {number} failed: {exc!r}"))

    async def _reopen(self, number: int, seek: Seek, confirm: Confirm) -> None:
        """Open and run, again and again.  Raises errors that opening again cannot cure."""
        generation = self._generation
        pause = _FIRST_PAUSE_S
        failures = 0
        while generation == self._generation:
            runner = self.runners.get(number)
            if runner is None:
                await self._wait_closed(number)
                runner = self.runners[number] = TaskRunner(self._make(number))
                runner.task.batch_limit = self._batch_limits.setdefault(number, BatchLimit())
            commits = runner.commits
            try:
                await self._run(number, runner, seek)
            except (*_REOPENABLE, *_KEPT_CLOSED) as exc:
                extra = fields(task=number, code=exc.code)
                log.warning("task %d is closed and opens again: %s", number, exc, extra=extra)
                if self.on_reopen is not None:
                    self.on_reopen(exc)
                if runner.commits > commits:
                    failures, pause = 0, _FIRST_PAUSE_S
                if runner.failed_commit:
                    runner.task.batch_limit.shrink()
                is_kept_closed = isinstance(exc, _KEPT_CLOSED)
                is_away = isinstance(exc, BrokerUnavailable) and not isinstance(exc, BrokerRefuses)
                failures += not (is_away or is_kept_closed)
                if failures > _MAX_FAILURES:
                    raise
            else:
                return  # the task was told to stop while it opened
            self.runners.pop(number, None)
            await self._close(runner)
            await asyncio.sleep(pause)
            longest = _LONGEST_PAUSE_CLOSED_S if is_kept_closed else _LONGEST_PAUSE_S
            pause = min(2 * pause, longest)
            while not await confirm():
                await asyncio.sleep(_FIRST_PAUSE_S)

    async def _run(self, number: int, runner: TaskRunner, seek: Seek) -> None:
        async def sought(positions: Mapping[TopicPartition, int]) -> None:
            await seek(positions)
            if self.on_ready is not None:
                self.on_ready(number)

        await runner.run(sought)

    async def _fail(self, exc: HeadraceError) -> None:
        if self.on_failure is not None:
            await self.on_failure(exc)

    async def _close(self, runner: TaskRunner) -> None:
        """Close the task; the closing continues even when the caller is cancelled."""
        await asyncio.shield(self._begin_close(runner))

    def _begin_close(self, runner: TaskRunner) -> asyncio.Future[None]:
        closing = asyncio.ensure_future(self._close_now(runner))
        self._closing[runner.task.partition] = closing
        return closing

    async def _wait_closed(self, number: int) -> None:
        """Wait until a former task of this number has released its directory."""
        closing = self._closing.get(number)
        if closing is not None:
            await asyncio.shield(closing)  # not deleted if cancelled: the next caller must wait too
            if self._closing.get(number) is closing:
                del self._closing[number]

    async def _close_now(self, runner: TaskRunner) -> None:
        try:
            await runner.close()
        except Exception as exc:
            log.warning("task %d does not close cleanly: %r", runner.task.partition, exc)
