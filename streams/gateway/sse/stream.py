"""The bytes of one client's stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from streams.gateway.sse import events
from streams.gateway.sse.subscriber import Subscriber

if TYPE_CHECKING:
    from streams.gateway.sse.hub import TailHub


class Stream:
    """following: the task that brings the subscriber to the end of the log."""

    def __init__(self, hub: TailHub, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        self.following: asyncio.Task[None] | None = None
        self._hub = hub

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Server-sent events, whole ones; ends with what the client can go on from."""
        subscriber = self.subscriber
        yield events.id_line(subscriber.sent)
        while True:
            if chunk := subscriber.take():
                yield chunk
            elif subscriber.end is not None:
                break
            elif not await subscriber.filled(self._hub.heartbeat_s):
                yield events.heartbeat(self._moved())
        if subscriber.end == "overflow":
            yield events.overflow(subscriber.sent)
        else:
            yield events.id_line(subscriber.cursor)

    def _moved(self) -> str | None:
        cursor = self._hub.cursor_of(self.subscriber)
        if cursor == self.subscriber.sent:
            return None
        self.subscriber.sent = cursor
        return cursor

    def close(self) -> None:
        self._hub.close(self)
