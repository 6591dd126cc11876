"""The bytes of one client's stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from streams.gateway.live_tail import events
from streams.gateway.live_tail.subscriber import Subscriber

if TYPE_CHECKING:
    from streams.gateway.live_tail.hub import TailHub


class Stream:
    """The stream of one client.  catch_up_task: reads to the end of the log for it."""

    def __init__(self, hub: TailHub, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        self.catch_up_task: asyncio.Task[None] | None = None
        self._hub = hub

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield whole server-sent events, the last one with the cursor to continue from."""
        subscriber = self.subscriber
        yield events.id_line(subscriber.sent)
        while True:
            if chunk := subscriber.take():
                yield chunk
            elif subscriber.end is not None:
                break
            elif not await subscriber.wait_filled(self._hub.heartbeat_s):
                yield events.heartbeat(self._advance_cursor())
        if subscriber.end == "overflow":
            yield events.overflow(subscriber.sent)
        else:
            yield events.id_line(subscriber.cursor)

    def _advance_cursor(self) -> str | None:
        cursor = self._hub.cursor_of(self.subscriber)
        if cursor == self.subscriber.sent:
            return None
        self.subscriber.sent = cursor
        return cursor

    def close(self) -> None:
        self._hub.close(self)
