"""Batching of concurrent sends, which share requests to the log.

One delivery runs at a time; parcels that arrive meanwhile wait and leave together with the next, in
the order of the calls.  So a single send never waits, and a thousand take a few deliveries.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from streams.api.route import MAX_VALUES
from streams.client.transport import ProduceRequest
from streams.errors import HeadraceError

MOST_BYTES = 1 << 20

Outcome = list[str] | HeadraceError
"""Of one parcel: the positions of its records, or why there are none."""

Deliver = Callable[[Sequence[ProduceRequest]], Awaitable[list[Outcome]]]


class _Waiting(NamedTuple):
    parcel: ProduceRequest
    positions: asyncio.Future[list[str]]


class Batches:
    """A queue of parcels that are delivered in batches; used in one event loop."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    async def send(self, parcel: ProduceRequest) -> list[str]:
        """Send a parcel and return the positions of its records.  Raises the error of its delivery.

        A send that is cancelled before its delivery began is not delivered.
        """
        waiting = _Waiting(parcel, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await waiting.positions

    async def close(self) -> None:
        """Wait until everything that was sent has its outcome."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while batch := self._take():
            try:
                outcomes = await self._deliver([waiting.parcel for waiting in batch])
            except Exception as exc:
                for waiting in batch:
                    _settle(waiting.positions, exc)
                continue
            for waiting, outcome in zip(batch, outcomes, strict=True):
                _settle(waiting.positions, outcome)

    def _take(self) -> list[_Waiting]:
        """Take as many waiting parcels as fit in a batch.

        A parcel that is too large for any batch goes alone.
        """
        batch: list[_Waiting] = []
        count = size = 0
        while self._waiting:
            if self._waiting[0].positions.done():
                self._waiting.popleft()
                continue
            texts = self._waiting[0].parcel.texts
            count, size = count + len(texts), size + sum(map(len, texts))
            if batch and (count > MAX_VALUES or size > MOST_BYTES):
                break
            batch.append(self._waiting.popleft())
        return batch


def _settle(positions: asyncio.Future[list[str]], outcome: Outcome | Exception) -> None:
    if positions.done():  # cancelled by its caller
        return
    if isinstance(outcome, HeadraceError | Exception):
        positions.set_exception(outcome)
    else:
        positions.set_result(outcome)
