"""A thread that reads a topic for an event loop, only as fast as the loop takes the records."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple

from streams.client.transport import Following, Step, TailRecord
from streams.client.values import context_of
from streams.engine.log import Log
from streams.log.cursors import LATEST
from streams.log.tail import Filters, Observation, Tail
from topology.declarations import Topic
from topology.saop import RTES_EVENTS

AHEAD = 1000
"""Records read before they are taken."""
_LOOK_S = 0.1


class Source(NamedTuple):
    """What is followed on which log."""

    log: Log
    topic: Topic
    prefix: str
    what: Following

    def open(self, stopped: Callable[[], bool]) -> Tail:
        filters = Filters(self.what.session_id, self.what.type, self.what.task_id)
        start = self.what.start
        if start == LATEST and self.topic is RTES_EVENTS and self.what.session_id is not None:
            start = self._latest(filters, stopped)
        return Tail(self.log, self.topic, self.prefix, filters, start)

    def _latest(self, filters: Filters, stopped: Callable[[], bool]) -> str:
        """A cursor of a session is a sequence, which its records alone tell."""
        tail = Tail(self.log, self.topic, self.prefix, filters, LATEST)
        try:
            for _ in tail.follow(True, stopped):
                pass
            return tail.cursor()
        finally:
            tail.close()


class Follower:
    """Made in the loop that takes the steps."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._steps: deque[Step] = deque()
        self._free = threading.Semaphore(AHEAD)
        self._stopped = threading.Event()
        self._told = False
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-tail", daemon=True)

    async def steps(self) -> AsyncGenerator[Step, None]:
        """As `Transport.follow`.  The thread and its reader end with it."""
        self._thread.start()
        try:
            yield await self._first()
            while step := await self._take():
                yield step
            if self._error is not None:
                raise self._error
        finally:
            self._stopped.set()
            await self._over.wait()

    async def _first(self) -> Step:
        """The opening step alone.  Raises what opening came to."""
        await self._more.wait()
        if not self._steps and self._error is not None:
            raise self._error
        return self._steps.popleft()

    async def _take(self) -> Step | None:
        """All that is there, at least one record; None when reading has ended."""
        while True:
            ended = self._over.is_set()
            self._told = False  # before looking: what comes after it tells again
            self._more.clear()
            steps = [self._steps.popleft() for _ in range(len(self._steps))]
            if steps:
                self._free.release(len(steps))
                return Step(steps[-1].cursor, [r for step in steps for r in step.records])
            if ended:
                return None
            await self._more.wait()

    def _run(self) -> None:
        try:
            tail = self._source.open(self._stopped.is_set)
            try:
                self._put(Step(tail.cursor()))
                for seen in tail.follow(False, self._stopped.is_set):
                    self._put(self._step(seen, tail.cursor()))
            finally:
                tail.close()
        except BaseException as exc:
            self._error = exc
        self._call(self._end)

    def _end(self) -> None:
        self._over.set()
        self._more.set()

    def _step(self, seen: Observation, cursor: str) -> Step:
        record, topic = seen.record, self._source.topic.name
        place = (record.partition, record.offset, record.timestamp)
        told = TailRecord(seen.value, topic, *place, cursor, context_of(record))
        return Step(cursor, (told,))

    def _put(self, step: Step) -> None:
        while not self._free.acquire(timeout=_LOOK_S):
            if self._stopped.is_set():
                return
        self._steps.append(step)
        if not self._told:
            self._told = True
            self._call(self._more.set)

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed, nobody takes any more
            self._stopped.set()
