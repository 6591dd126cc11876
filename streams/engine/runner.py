"""Drives one task on the event loop.

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

from streams.engine.records import TopicPartition
from streams.engine.task import Cycle, Task
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

    ready: fetched records may be put.  sought: the consumer stands where the task wants it.
    epoch: counts resumptions; what a fetch of an older epoch brings is not for this one.
    told: where the consumer stood, and the log ended, when the task last heard of it.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.ready = False
        self.sought = False
        self.epoch = 0
        self.commits = 0
        self.told: dict[TopicPartition, tuple[int, int]] = {}
        self._opened = False
        self._thread = ThreadPoolExecutor(1, f"task-{task.partition}")
        self._inflight: asyncio.Future[None] | None = None
        self._asking: asyncio.Future[None] | None = None
        self._wake = asyncio.Event()
        self._last_turn = 0.0
        self._gather_until: float | None = None
        self._loop_task: asyncio.Task[None] | None = None

    async def run(self, seek: Seek) -> None:
        """Open if need be, resume, and cycle for ever.  Raises what stops the task."""
        self._loop_task = asyncio.current_task()
        if not self._opened:
            began = time.monotonic()
            await self._call(self.task.open)
            if self.task.stopping.is_set():
                return
            self._opened = True
            log.info(
                "task %d: open, %d rows restored in %.2f s",
                self.task.partition,
                self.task.restored,
                time.monotonic() - began,
                extra=fields(task=self.task.partition),
            )
        self._wake.clear()
        positions = self.task.resume()
        self.told = {}
        self.epoch += 1
        self.ready = True  # before the seek: a fetch that returns meanwhile is sought back
        await seek(positions)
        self.sought = True
        while True:
            await self._cycle()

    def wake(self) -> None:
        """Something was put, or the consumer has moved."""
        self._wake.set()

    async def _cycle(self) -> None:
        if await self._fire():
            return
        await self._freshen()
        await self._resolve()
        wait = self._gathering()
        cycle = None if wait else self.task.next_cycle()
        if cycle is not None:
            await self.settle()
            self._submit(cycle)
            await asyncio.sleep(0)
        elif self._inflight is not None:
            await self.settle()
        else:
            await self._rest(wait or _IDLE_S)

    def _gathering(self) -> float:
        """How long, in seconds, what is in hand still waits, so that one commit serves more."""
        now, patience = time.monotonic(), self.task.gathers_s()
        if not patience:
            self._gather_until = None
            return 0.0
        if self._gather_until is None:
            self._gather_until = now + patience
        if now < self._gather_until:
            return self._gather_until - now
        self._gather_until = None
        return 0.0

    async def _freshen(self) -> None:
        """Have copies read on that the records in hand may rest on, on a thread of the pool."""
        if stale := self.task.stale():
            await asyncio.get_running_loop().run_in_executor(None, self.task.freshen, stale)
            self.task.freshened(stale)

    async def _resolve(self) -> None:
        """Ask the schema registry for ids not seen before, and wait for one that is away."""
        told, done = False, set[int]()
        while self.task.ids is not None and (asked := self.task.unresolved() - done):
            resolve = partial(self.task.ids.resolve, asked)
            try:
                await asyncio.get_running_loop().run_in_executor(None, resolve)
                done |= asked  # however long it took: what is unknown is forgotten after a while
            except RegistryUnavailable as exc:
                if not told:
                    log.warning("task %d waits: %s", self.task.partition, exc)
                    told = True
                await asyncio.sleep(_IDLE_S)

    async def _fire(self) -> bool:
        """Give due timers a turn: at once when idle, now and then when busy."""
        task = self.task
        if task.ends_wanted and self._asking is None:
            self._asking = asyncio.ensure_future(self._ask_ends())
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
        """On a thread of the pool, not the task's: a commit must not wait for it."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.task.ask_ends)
        except Exception as exc:
            log.warning("task %d: ends of its inputs are unknown: %s", self.task.partition, exc)
            await asyncio.sleep(_IDLE_S)
        finally:
            self._asking = None
            self._wake.set()

    async def _rest(self, wait: float) -> None:
        """Until something is put, a timer is due, or so many seconds have passed."""
        due_in = self.task.due_in_s
        if due_in is not None:
            wait = max(_GATE_S, min(wait, due_in))
        # Not wait_for: in Python 3.11 it swallows a cancellation that comes together with a wake.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()
        self._wake.clear()

    def _submit(self, cycle: Cycle) -> None:
        self.task.submit(cycle)
        self._inflight = asyncio.ensure_future(self._call(lambda: self.task.commit(cycle)))

    async def settle(self) -> None:
        """Wait for the commit in flight.  Shielded: a cancelled wait must not lose its outcome."""
        if self._inflight is not None:
            await asyncio.shield(self._inflight)
            self._inflight = None
            self.task.settled()
            self.commits += 1

    async def park(self) -> bool:
        """Stop cycling with nothing in flight, producer and store kept; False if that failed."""
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
        """Give everything back; waits for what runs in the task's thread."""
        self.ready = self.sought = False
        self.task.stopping.set()
        loop = asyncio.get_running_loop()
        if self._asking is not None:
            self._asking.cancel()
        if self._inflight is not None:
            await asyncio.wait([self._inflight])
            with contextlib.suppress(asyncio.CancelledError):
                self._inflight.exception()  # that it failed is no news: the task is given up
        try:
            await loop.run_in_executor(self._thread, self.task.close)
        finally:
            await loop.run_in_executor(None, self._thread.shutdown)

    def _call(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call)
