"""A stream that is read while it is open: the ASGI application called by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message

from tests.unit.doors.a2a.bench import Json, events_in

PATIENCE_S = 20


class LiveStream:
    """The response to one request, chunk by chunk.

    status: None until it has begun.  is_over: its end was read.
    """

    def __init__(self, body: bytes) -> None:
        self.status: int | None = None
        self.is_over = False
        self._body = body
        self._is_read = False
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        if message.get("body"):
            self._chunks.put_nowait(message["body"])
        if not message.get("more_body"):
            self._chunks.put_nowait(None)

    async def next(self) -> list[tuple[str, Json]]:
        """Return the events of the next chunk; none for a sign of life, or at the end."""
        async with asyncio.timeout(PATIENCE_S):
            chunk = await self._chunks.get()
        self.is_over = chunk is None
        return [] if chunk is None else events_in(chunk.decode())

    def leave(self) -> None:
        """Close the connection, as a client does."""
        self._gone.set()


@asynccontextmanager
async def open_stream(
    app: ASGIApp,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> AsyncIterator[LiveStream]:
    """Open the stream of a request to a path."""
    stream = LiveStream(b"" if body is None else json.dumps(body).encode())
    sent = {"host": "localhost", "a2a-version": "1.0", **(headers or {})}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
    }
    task = asyncio.ensure_future(app(scope, stream.receive, stream.send))
    try:
        yield stream
    finally:
        stream.leave()
        async with asyncio.timeout(PATIENCE_S):
            await task
