"""Following the event stream of whatever gateway answers, over lost connections."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from streams.cli.saop.live_tail import TOPIC, LiveTail
from streams.cli.watch.gateway import WatchedGateway
from streams.cli.watch.threads import in_thread
from streams.errors import HeadraceError

if TYPE_CHECKING:
    import httpx

    from streams.client.sse import Events

PAUSE_S = 1.0
PATIENCE_S = 3.0
LIVE, CONNECTING = "live", "connecting"


class LiveStream:
    """Adds the events of the stream to a tail, from the cursor on.

    state: `live`, `connecting`, or why there is no stream.  changes: counts what was added.
    """

    def __init__(self, gateway: WatchedGateway, session_id: str | None, tail: LiveTail) -> None:
        self._gateway = gateway
        self._session_id = session_id
        self._tail = tail
        self._cursor: str | None = None
        self.state = CONNECTING
        self.changes = 0

    async def follow(self) -> None:
        """Follow until cancelled; afterwards it can be called again, and nothing is lost."""
        await in_thread(_load)
        while True:
            try:
                await self._follow_once()
                self.state = CONNECTING
            except HeadraceError as exc:
                self.state = exc.message
                if self._cursor is not None and _is_about_cursor(exc):
                    self._cursor = None
                    self._tail.note(f"some events are not shown: {exc.message}")
            self.changes += 1
            await asyncio.sleep(PAUSE_S)

    async def _follow_once(self) -> None:
        async with _client(self._gateway) as http:
            async for step in self._events(http).steps():
                self.state = LIVE
                self._cursor = step.cursor
                for record in step.records:
                    self._tail.add(record.value)
                self.changes += 1

    def _events(self, http: httpx.AsyncClient) -> Events:
        from streams.client.sse import Events
        from streams.client.transport import Following

        start = self._cursor or "latest"
        return Events(http, Following(TOPIC, self._session_id, None, None, start), PATIENCE_S)


def _client(gateway: WatchedGateway) -> httpx.AsyncClient:
    import httpx

    from streams.access.callers import bearer

    headers = bearer(gateway.settings.token)
    return httpx.AsyncClient(base_url=gateway.url, headers=headers, trust_env=False)


def _load() -> None:
    """Import the client, which takes a second: in a thread, so that keys work meanwhile."""
    import_module("streams.client.sse")


def _is_about_cursor(exc: HeadraceError) -> bool:
    code: str = getattr(exc, "rule", exc.code)
    return code.startswith("cursor")
