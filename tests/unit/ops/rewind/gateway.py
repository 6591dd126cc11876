"""The routes over HTTP, on a real server, with answers that can be held back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import uvicorn

from streams.api.problems import Response

Handle = Callable[[str, str, str, Any], Response]
"""Takes method, path, query and body."""
PATIENCE_S = 60.0


class Gateway:
    """handle: answers one request after the other.

    hold: what a path ends with, at which a request is kept without an answer, and whether it has
    its effect first.  held: set when that has happened.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.address = ""
        self.hold: tuple[str, bool] | None = None
        self.held = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await _body(receive)
        path = scope["raw_path"].decode()
        holding = self.hold is not None and path.endswith(self.hold[0])
        if holding and self.hold is not None and not self.hold[1]:
            await self._keep(receive)
            return
        answer = self._handle(scope["method"], path, scope["query_string"].decode(), body)
        if holding:
            await self._keep(receive)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(answer.body)})

    async def _keep(self, receive: Callable[[], Awaitable[Any]]) -> None:
        """Until whoever asked has gone."""
        self.held.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    @contextmanager
    def serving(self) -> Iterator[None]:
        """On a port of its own, which `address` then names."""
        config = uvicorn.Config(self, port=0, lifespan="off", log_level="critical", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.01)
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
