"""A stream as an ASGI response: one write per wake-up, and an end when the client is gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streams.gateway.sse.document import MEDIA_TYPE
from streams.gateway.sse.stream import Stream

_PIECE_BYTES = 1 << 16
_LOOK_S = 0.05


class ClientStuck(Exception):
    """It takes nothing."""


class EventStream(Response):
    """patience_s: how long the client may take nothing before it is disconnected.

    allowed: whether it may still follow; asked before each write, and so with each heartbeat.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self, stream: Stream, patience_s: float, allowed: Callable[[], bool] = lambda: True
    ) -> None:
        self._stream = stream
        self._allowed = allowed
        self._patience_s = patience_s
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(receive, send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((writing, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (writing, gone):
                task.cancel()
            self._stream.close()
            await asyncio.wait((writing, gone))
        if not writing.cancelled() and (exc := writing.exception()) is not None:
            raise exc

    async def _write(self, receive: Receive, send: Send) -> None:
        transport = _transport(receive)
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async with contextlib.aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    await self._send(send, transport, piece, True)
            await self._send(send, transport, b"", False)
            await self._flushed(transport)
        except ClientStuck:
            if transport is not None:
                transport.abort()

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(self._stream.chunks()) as chunks:
            async for chunk in chunks:
                if not self._allowed():
                    return
                for at in range(0, len(chunk), _PIECE_BYTES):
                    yield chunk[at : at + _PIECE_BYTES]

    async def _send(self, send: Send, transport: Any, piece: bytes, more: bool) -> None:
        """Raises ClientStuck, with nothing of the piece sent."""
        message = {"type": "http.response.body", "body": piece, "more_body": more}
        while True:
            waiting = _unsent(transport)
            try:
                async with asyncio.timeout(self._patience_s):
                    await send(message)
                return
            except TimeoutError:
                if _unsent(transport) >= waiting:
                    raise ClientStuck from None

    async def _flushed(self, transport: Any) -> None:
        """Until the client has taken what it was sent.  Raises ClientStuck."""
        waiting = _unsent(transport)
        while waiting:
            until = time.monotonic() + self._patience_s
            while _unsent(transport) >= waiting:
                if time.monotonic() > until:
                    raise ClientStuck
                await asyncio.sleep(_LOOK_S)
            waiting = _unsent(transport)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _transport(receive: Receive) -> Any:
    """The server's, which ASGI does not show: only it can end a connection that takes nothing.

    None behind a server or middleware that hides it.
    """
    return getattr(getattr(receive, "__self__", None), "transport", None)


def _unsent(transport: Any) -> int:
    return 0 if transport is None else int(transport.get_write_buffer_size())
