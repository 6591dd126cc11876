"""Paces the requests of a consumer for metadata, and notes the topics that this says are gone.

aiokafka's fetcher asks for metadata as soon as it is answered while a partition has no leader.
That is right for the moment of an election; but the partitions of a deleted topic never have one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

GONE_S = 10.0
"""How long metadata must lack a topic: a broker that has just come back may lack all of them."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 1.0
_CALM_S = 5.0
"""After so long without a request the next one is the first again."""


class PacedUpdates:
    """Updates of metadata on request: the first at once, those that follow after growing pauses."""

    def __init__(
        self,
        update: Callable[[], Awaitable[Any]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._update, self._sleep = update, sleep
        self._running: asyncio.Task[Any] | None = None
        self._pause_s = 0.0
        self._ended_at = -_CALM_S

    def request(self) -> asyncio.Future[Any]:
        """Return the future of the next update, which all who ask meanwhile share."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return asyncio.shield(self._running)

    async def _run(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop.time() - self._ended_at >= _CALM_S:
            self._pause_s = 0.0
        await self._sleep(self._pause_s)
        self._pause_s = min(max(2 * self._pause_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
        try:
            return await self._update()
        finally:
            self._ended_at = loop.time()

    def close(self) -> None:
        if self._running is not None:
            self._running.cancel()


class MissingTopics:
    """The topics that one update of metadata after the other lacks.

    topics: returns those that are read.  clock: in seconds.
    """

    def __init__(
        self, topics: Callable[[], Collection[str]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._topics, self._clock = topics, clock
        self._since: dict[str, float] = {}
        self._updated_at = 0.0

    def note(self, cluster: Any) -> None:
        """Take what an update has brought."""
        self._updated_at = now = self._clock()
        missing = {each for each in self._topics() if cluster.partitions_for_topic(each) is None}
        self._since = {each: self._since.get(each, now) for each in missing}

    def gone(self) -> list[str]:
        """Return the topics that all updates of the last ten seconds have lacked, by name."""
        return sorted(
            each for each, since in self._since.items() if self._updated_at - since >= GONE_S
        )
