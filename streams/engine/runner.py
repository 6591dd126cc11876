"""The loop that drives one task on the event loop.

Deciding runs on the loop; opening and committing block, so they run in the task's own thread.
While one cycle commits, the next is decided (depth 1).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from streams.engine.batch import Batch
from streams.engine.records import TopicPartition
from streams.engine.task import Task
from streams.errors import RegistryUnavailable
from streams.telemetry.logs import fields

T = TypeVar("T")
Seek = Callable[[Mapping[TopicPartition, int]], Awaitable[None]]
log = logging.getLogger(__name__)

_TURN_S = 0.05
_IDLE_S = 1.0
_GATE_S = 0.01


class TaskRunner:
    """One task and its thread.

    ready: fetched records may be put.  sought: the consumer has sought the task's positions.
    epoch: the number of resumptions; records fetched in an earlier epoch are dropped.
    failed_commit: whether the commit in flight has failed.
    told: the consumer's positions and the log's ends as last reported to the task.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.ready = False
        self.sought = False
        self.epoch = 0
        self.commits = 0
        self.failed_commit = False
        self.told: dict[TopicPartition, tuple[int, int]] = {}
        self._opened = False
        self._thread = ThreadPoolExecutor(1, f"task-{task.partition}")
        self._inflight: asyncio.Future[None] | None = None
        self._ends_request: asyncio.Future[None] | None = None
        self._wake = asyncio.Event()
        self._last_turn = 0.0
        self._linger_until: float | None = None
        self._loop_task: asyncio.Task[None] | None = None

    async def run(self, seek: Seek) -> None:
        """Open if necessary, resume, and cycle for ever.  Raises the error that stops the task."""
        self._loop_task = asyncio.current_task()
        if not self._opened:
            start = time.monotonic()
            await self._call(self.task.open)
            if self.task.stopping.is_set():
                return
            self._opened = True
            log.info(
                "task %d: open, %d rows restored in %.2f s",
                self.task.partition,
                self.task.restored,
                time.monotonic() - start,
                extra=fields(task=self.task.partition),
            )
        self._wake.clear()
        positions = self.task.resume()
        self.told = {}
        self.epoch += 1
        self.ready = True  # before the seek: the consumer seeks back after an earlier fetch
        await seek(positions)
        self.sought = True
        while True:
            await self._cycle()

    def wake(self) -> None:
        """Wake the loop: records were put, or the consumer's position has changed."""
        self._wake.set()

    async def _cycle(self) -> None:
        if await self._fire():
            return
        await self._freshen()
        await self._resolve()
        wait = self._linger_left_s()
        cycle = None if wait else self.task.next_batch()
        if cycle is not None:
            await self.settle()
            self._submit(cycle)
            await asyncio.sleep(0)
        elif self._inflight is not None:
            await self.settle()
        else:
            await self._wait_idle(wait or _IDLE_S)

    def _linger_left_s(self) -> float:
        """Return how many seconds buffered records still wait for others to share their commit."""
        now, linger_s = time.monotonic(), self.task.linger_s()
        if not linger_s:
            self._linger_until = None
            return 0.0
        if self._linger_until is None:
            self._linger_until = now + linger_s
        if now < self._linger_until:
            return self._linger_until - now
        self._linger_until = None
        return 0.0

    async def _freshen(self) -> None:
        """Catch up the replicas that the buffered records may read, on a thread of the pool."""
        if stale := self.task.processors_to_catch_up():
            await asyncio.get_running_loop().run_in_executor(None, self.task.catch_up, stale)
            self.task.mark_caught_up(stale)

    async def _resolve(self) -> None:
        """Ask the schema registry for unknown ids; wait while it is unavailable."""
        warned, resolved = False, set[int]()
        while self.task.ids is not None and (ids := self.task.unresolved() - resolved):
            resolve = partial(self.task.ids.resolve, ids)
            try:
                await asyncio.get_running_loop().run_in_executor(None, resolve)
                resolved |= ids  # even if it took long: unknown ids expire after a while
            except RegistryUnavailable as exc:
                if not warned:
                    log.warning("task %d waits: %s", self.task.partition, exc)
                    warned = True
                await asyncio.sleep(_IDLE_S)

    async def _fire(self) -> bool:
        """Fire due timers: at once when idle, at intervals when busy."""
        task = self.task
        if task.needs_end_offsets and self._ends_request is None:
            self._ends_request = asyncio.ensure_future(self._ask_ends())
        now = time.monotonic()
        if self._inflight is not None and now - self._last_turn < _TURN_S:
            return False
        self._last_turn = now
        limit = task.timers_due()
        if limit is None:
            return False
        await self.settle()
        cycle = task.fire(limit)
        if cycle is None:
            return False
        self._submit(cycle)
        return True

    async def _ask_ends(self) -> None:
        """Read the ends on a thread of the pool, not the task's: a commit must not wait for it."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.task.read_end_offsets)
        except Exception as exc:
            log.warning("task %d: ends of its inputs are unknown: %s", self.task.partition, exc)
            await asyncio.sleep(_IDLE_S)
        finally:
            self._ends_request = None
            self._wake.set()

    async def _wait_idle(self, wait: float) -> None:
        """Wait until records are put, a timer is due, or `wait` seconds have passed."""
        due_in = self.task.due_in_s
        if due_in is not None:
            wait = max(_GATE_S, min(wait, due_in))
        # Not wait_for: in Python 3.11 it loses a cancellation that coincides with a wake.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()
        self._wake.clear()

    def _submit(self, cycle: Batch) -> None:
        self.task.submit(cycle)
        self._inflight = asyncio.ensure_future(self._call(lambda: self.task.commit(cycle)))

    async def settle(self) -> None:
        """Wait for the commit in flight.  Shielded: a cancelled wait must not lose its outcome."""
        if self._inflight is not None:
            self.failed_commit = True
            await asyncio.shield(self._inflight)
            self.failed_commit = False
            self._inflight = None
            self.task.mark_committed()
            self.commits += 1

    async def park(self) -> bool:
        """Stop cycling, with nothing in flight, but keep producer and store.

        Returns False if the commit in flight failed, or the task was never open.
        """
        self.ready = self.sought = False
        if self._loop_task is not None and not self._loop_task.done():
            self._loop_task.cancel()
            await asyncio.wait([self._loop_task])
        if not self._opened:
            return False
        try:
            await self.settle()
        except Exception as exc:
            log.warning("task %d: %s", self.task.partition, exc)
            return False
        return True

    async def close(self) -> None:
        """Close the task; wait for the calls that run in its thread."""
        self.ready = self.sought = False
        self.task.stopping.set()
        loop = asyncio.get_running_loop()
        if self._ends_request is not None:
            self._ends_request.cancel()
        if self._inflight is not None:
            await asyncio.wait([self._inflight])
            with contextlib.suppress(asyncio.CancelledError):
                self._inflight.exception()  # ignore a failure: the task is being closed
        try:
            await loop.run_in_executor(self._thread, self.task.close)
        finally:
            await loop.run_in_executor(None, self._thread.shutdown)

    def _call(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call)
