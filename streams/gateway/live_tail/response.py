"""A stream as an ASGI response, which also ends streams of clients that are gone or stuck."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streams.gateway.live_tail.document import MEDIA_TYPE

_WRITE_BYTES = 1 << 16
_POLL_S = 0.05


class ClientStuck(Exception):
    """An error for a client that does not read."""


class Chunks(Protocol):
    """The content of a stream."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield whole server-sent events."""

    def close(self) -> None:
        """Give back what the stream has taken."""


class EventStream(Response):
    """The response with the events of one stream.

    patience_s: how long the client may read nothing before it is disconnected.
    allowed: whether the client may still follow; called before each write, also of a heartbeat.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self, stream: Chunks, patience_s: float, allowed: Callable[[], bool] = lambda: True
    ) -> None:
        self._stream = stream
        self._allowed = allowed
        self._patience_s = patience_s
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(receive, send))
        disconnect = asyncio.create_task(_wait_disconnect(receive))
        try:
            await asyncio.wait((writing, disconnect), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (writing, disconnect):
                task.cancel()
            self._stream.close()
            await asyncio.wait((writing, disconnect))
        if not writing.cancelled() and (exc := writing.exception()) is not None:
            raise exc

    async def _write(self, receive: Receive, send: Send) -> None:
        transport = _transport(receive)
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async with contextlib.aclosing(self._split_chunks()) as pieces:
                async for piece in pieces:
                    await self._send(send, transport, piece, True)
            await self._send(send, transport, b"", False)
            await self._wait_flushed(transport)
        except ClientStuck:
            if transport is not None:
                transport.abort()

    async def _split_chunks(self) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(self._stream.chunks()) as chunks:
            async for chunk in chunks:
                if not self._allowed():
                    return
                for at in range(0, len(chunk), _WRITE_BYTES):
                    yield chunk[at : at + _WRITE_BYTES]

    async def _send(self, send: Send, transport: Any, piece: bytes, more: bool) -> None:
        """Send a piece.  Raises ClientStuck, with nothing of the piece sent."""
        message = {"type": "http.response.body", "body": piece, "more_body": more}
        while True:
            unsent = _count_unsent_bytes(transport)
            try:
                async with asyncio.timeout(self._patience_s):
                    await send(message)
                return
            except TimeoutError:
                if _count_unsent_bytes(transport) >= unsent:
                    raise ClientStuck from None

    async def _wait_flushed(self, transport: Any) -> None:
        """Wait until the client has read everything.  Raises ClientStuck."""
        unsent = _count_unsent_bytes(transport)
        while unsent:
            deadline = time.monotonic() + self._patience_s
            while _count_unsent_bytes(transport) >= unsent:
                if time.monotonic() > deadline:
                    raise ClientStuck
                await asyncio.sleep(_POLL_S)
            unsent = _count_unsent_bytes(transport)


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _transport(receive: Receive) -> Any:
    """Return the server's transport; None behind a server or middleware that hides it.

    ASGI does not expose it, but only it can abort the connection of a client that reads nothing.
    """
    return getattr(getattr(receive, "__self__", None), "transport", None)


def _count_unsent_bytes(transport: Any) -> int:
    return 0 if transport is None else int(transport.get_write_buffer_size())
