"""The followed topic as an async iterator that can be left at any point."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from streams.client.transport import Step, TailRecord


class _Reading:
    """The steps of a stream, and the one that is awaited."""

    def __init__(self, steps: AsyncGenerator[Step, None]) -> None:
        self.steps = steps
        self.pending: asyncio.Task[Step | None] | None = None

    async def next(self) -> Step | None:
        return await anext(self.steps, None)

    def start(self) -> asyncio.Task[Step | None]:
        """Read the next step in a task of its own.

        A consumer that stops waiting neither cancels this task nor loses its result.
        """
        if self.pending is None:
            self.pending = asyncio.create_task(self.next())
        return self.pending

    def abandon(self) -> None:
        if self.pending is not None and not self.pending.done():
            loop = self.pending.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.pending.cancel)


class TailStream:
    """Records in the order of the log; an async iterator, and a context manager that closes it.

    Following begins with the first record asked for, or when the context is entered:

        async with hr.tail("rtes.events", session_id="s1") as events:
            await hr.send("rtes.raw", event)    # after `latest` was fixed
            async for record in events:
                ...

    It ends when the client closes.  Waiting for a record can be given up (`asyncio.timeout`) and
    begun again; nothing is lost.  A stream that is dropped is closed.
    """

    def __init__(self, steps: AsyncGenerator[Step, None]) -> None:
        self._reading = _Reading(steps)
        self._ready: deque[TailRecord] = deque()
        self._cursor: str | None = None
        self._over = False
        weakref.finalize(self, self._reading.abandon)

    @property
    def cursor(self) -> str | None:
        """Return the cursor behind the last record taken; None before following has begun."""
        return self._cursor

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TailRecord:
        while not self._ready:
            if not await self._step():
                raise StopAsyncIteration
        record = self._ready.popleft()
        self._cursor = record.cursor
        return record

    async def take_ready(self) -> list[TailRecord]:
        """Return the next records that are there by now, in their order, without waiting.

        It also begins to read on: a later call returns what has come meanwhile.
        """
        if not self._over:
            pending = self._reading.start()
            await asyncio.wait({pending}, timeout=0)
            if pending.done():
                await self._step()
        records = list(self._ready)
        self._ready.clear()
        if records:
            self._cursor = records[-1].cursor
        return records

    async def _step(self) -> bool:
        """Wait for the next step; False when there is none."""
        if self._over:
            return False
        pending = self._reading.start()
        await asyncio.wait({pending})
        if self._reading.pending is not pending:  # another task has taken it
            return True
        self._reading.pending = None
        step = None
        try:
            step = None if pending.cancelled() else pending.result()
        finally:
            self._over = step is None
        if step is not None:
            self._ready.extend(step.records)
            if not self._ready:
                self._cursor = step.cursor
        return step is not None

    async def aclose(self) -> None:
        """End the stream, also for a task that waits for its next record.  Idempotent."""
        self._over = True
        self._ready.clear()
        pending = self._reading.pending
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})
            if not pending.cancelled():
                pending.exception()
        await self._reading.steps.aclose()

    async def __aenter__(self) -> Self:
        """Start following.  Raises what reading the first record would raise."""
        while self._cursor is None and await self._step():
            pass
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()
