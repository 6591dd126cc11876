"""The observation of a server, by the messages that pass to its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from mcp_types import JSONRPCRequest

_LIST_CHANGED = "notifications/tools/list_changed"
_PINGS = ("ping",)


class ServerWatch:
    """The observations of one connection.

    news: set when the connection has ended or the list of tools has changed.  requests: how often
    the server has asked for something that its client may not have, as elicitation.
    """

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.closed = False
        self.requests = 0

    def close(self) -> None:
        """Note that nothing comes of this connection any more."""
        self.closed = True
        self.news.set()

    def see(self, message: Any) -> None:
        """Note what a message is, which may be an exception of the transport too."""
        content = getattr(message, "message", None)
        if isinstance(content, JSONRPCRequest):
            self.requests += content.method not in _PINGS
        elif getattr(content, "method", None) == _LIST_CHANGED:
            self.news.set()


class _WatchedStream:
    """The stream of a server's messages, as the SDK reads it."""

    def __init__(self, stream: Any, watch: ServerWatch) -> None:
        self._stream, self._watch = stream, watch

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        try:
            message = await self._stream.receive()
        except Exception:
            self._watch.close()
            raise
        self._watch.see(message)
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            message = await anext(self._stream)
        except Exception:  # StopAsyncIteration at its end
            self._watch.close()
            raise
        self._watch.see(message)
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, exc, tb)


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[Any], watch: ServerWatch
) -> AsyncIterator[Any]:
    """Open a transport of the SDK whose messages from the server are observed."""
    async with transport as (read, write):
        yield _WatchedStream(read, watch), write
