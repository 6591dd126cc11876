"""The store and the sender of one gateway, which live as long as it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from streams.access.callers import Role
from streams.access.tokens import TokenFile
from streams.doors.push.addresses import AllowList
from streams.doors.push.courier import PACE, Door, Pace, SenderContext
from streams.doors.push.ownership import make_ownership
from streams.doors.push.posting import Poster
from streams.doors.push.sealing import Sealer
from streams.doors.push.sender import Figures, Sender
from streams.doors.push.store import Store
from streams.engine.log import Log
from streams.settings.push import PushSettings
from topology.core import PUSH_SUBSCRIPTIONS
from topology.topics import full_name


class PushMetrics(Protocol):
    """The counters that `streams.gateway.metrics` has."""

    def count_push(self, door: str, result: str) -> None: ...

    def set_push(self, figures: Figures) -> None: ...


class PushService:
    """Webhooks and push notifications of one gateway.

    settings: with a key of gateways.  clock: returns ms since the epoch.
    tokens: None if no tokens are required; set before `run`.
    """

    def __init__(
        self,
        settings: PushSettings,
        log: Log,
        clock: Callable[[], int],
        metrics: PushMetrics,
        *,
        poster: Poster | None = None,
        pace: Pace = PACE,
    ) -> None:
        assert settings.gateway_key is not None, "without a key there is no push"
        self.settings, self.clock, self._log, self._metrics = settings, clock, log, metrics
        self.tokens: TokenFile | None = None
        self.store = Store(log, settings.prefix, self._wake_soon)
        self.poster = poster or Poster(AllowList.parse(settings.push_allow))
        self.sealer = Sealer.of(settings.gateway_key)
        self._pace = pace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sender: Sender | None = None
        self._partitions = 0

    @asynccontextmanager
    async def run(self, doors: Mapping[str, Door]) -> AsyncIterator[None]:
        """Follow the subscriptions, and deliver for those that are this gateway's."""
        self._loop = asyncio.get_running_loop()
        ownership = make_ownership(self._log, self.settings.prefix, self._wake_soon)
        context = SenderContext(
            self.store, self.poster, self.sealer, self.clock, self._metrics.count_push, self._pace
        )
        self._sender = Sender(context, doors, ownership, self._count_partitions)
        self.store.start()
        ownership.start()
        tasks = [asyncio.create_task(self._sender.run()), asyncio.create_task(self._measure())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(ownership.stop)
            await asyncio.to_thread(self.store.stop)
            await self.poster.close()

    def has_role(self, principal: str, role: Role) -> bool:
        """Return whether a principal has a valid token with a role; true without tokens."""
        return self.tokens is None or bool(self.roles_of(principal) & {role, Role.OPERATOR})

    def roles_of(self, principal: str) -> frozenset[Role]:
        """Return the roles of all valid tokens of a principal."""
        return frozenset() if self.tokens is None else self.tokens.roles_of(principal)

    def _count_partitions(self) -> int:
        if not self._partitions:
            name = full_name(PUSH_SUBSCRIPTIONS, self.settings.prefix)
            info = self._log.topics().get(name)
            self._partitions = 0 if info is None else info.partitions
        return self._partitions

    async def _measure(self) -> None:
        assert self._sender is not None
        while True:
            self._metrics.set_push(self._sender.figures())
            await asyncio.sleep(self._pace.tick)

    def _wake_soon(self) -> None:
        """Let the sender look at the subscriptions; called in any thread."""
        loop, sender = self._loop, self._sender
        if loop is not None and sender is not None:
            with suppress(RuntimeError):  # the loop has ended, and its sender with it
                loop.call_soon_threadsafe(sender.wake)
