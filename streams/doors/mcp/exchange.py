"""The response to one message of MCP, which the SDK writes, and streams of events go on with."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Message, Scope, Send

_KEY = "headrace.mcp.writer"


class ResponseWriter:
    """The `send` of one response.

    The SDK begins a stream with its first message.  From then on a handler may write further ones
    itself: the SDK's own way takes too long for many streams of many events.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = asyncio.Event()
        self._lock = asyncio.Lock()

    def attach(self, scope: Scope) -> Scope:
        """Return the scope by which a handler finds this writer."""
        return {**scope, _KEY: self}

    async def send(self, message: Message) -> None:
        """Send a message of ASGI, as the SDK does."""
        async with self._lock:
            await self._send(message)
        if message["type"] == "http.response.body":
            self._begun.set()

    async def write(self, body: bytes) -> None:
        """Send more of the body, once it has begun."""
        if not self._begun.is_set():
            await self._begun.wait()
        async with self._lock:
            await self._send({"type": "http.response.body", "body": body, "more_body": True})


def writer_of(request: Any) -> ResponseWriter | None:
    """Return the writer of a request of HTTP; None for a message that came otherwise."""
    return None if request is None else request.scope.get(_KEY)
