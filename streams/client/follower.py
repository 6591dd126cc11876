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
    """A topic on a log, with the start and the filters to follow it with."""

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
        """Return the cursor behind the last record of a session.

        Such a cursor is a sequence number, which only the records of the session contain.
        """
        tail = Tail(self.log, self.topic, self.prefix, filters, LATEST)
        try:
            for _ in tail.follow(True, stopped):
                pass
            return tail.cursor()
        finally:
            tail.close()


class Follower:
    """A thread that reads a topic ahead of its consumer; create it in the consumer's event loop."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._steps: deque[Step] = deque()
        self._free = threading.Semaphore(AHEAD)
        self._stopped = threading.Event()
        self._notified = False
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-tail", daemon=True)

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Yield steps as `Transport.follow` does; stop the thread and its reader at the end."""
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
        """Return the opening step alone.  Raises the error of opening."""
        await self._more.wait()
        if not self._steps and self._error is not None:
            raise self._error
        return self._steps.popleft()

    async def _take(self) -> Step | None:
        """Return all records read so far, at least one; None when reading has ended."""
        while True:
            ended = self._over.is_set()
            self._notified = False  # before reading the queue: later steps notify again
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
        position = (record.partition, record.offset, record.timestamp)
        tail_record = TailRecord(seen.value, topic, *position, cursor, context_of(record))
        return Step(cursor, (tail_record,))

    def _put(self, step: Step) -> None:
        while not self._free.acquire(timeout=_LOOK_S):
            if self._stopped.is_set():
                return
        self._steps.append(step)
        if not self._notified:
            self._notified = True
            self._call(self._more.set)

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed, so nothing reads the queue
            self._stopped.set()
