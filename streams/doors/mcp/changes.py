"""The changes that a listening client has yet to be told of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(eq=False)
class Subject:
    """Something that a client follows.  is_pending: it has changed since the client was told."""

    is_pending: bool = field(default=False, init=False)


class Changes:
    """The subjects that have changed, each once; None for the end of the stream."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Subject | None] = asyncio.Queue()

    def add(self, subject: Subject) -> None:
        if not subject.is_pending:
            subject.is_pending = True
            self._queue.put_nowait(subject)

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def next(self) -> Subject | None:
        subject = await self._queue.get()
        if subject is not None:
            subject.is_pending = False
        return subject
