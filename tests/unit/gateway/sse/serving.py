"""The route on a real port, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI

from streams.gateway.live_tail import TailHub, router
from tests.unit.gateway.sse.harness import PATIENCE_S, Bench


class Server:
    """more: for the hub.  The system takes little for a client that does not read."""

    def __init__(self, bench: Bench, **more: Any) -> None:
        self.hub = TailHub(bench.log, bench.settings, **more)
        self.app = FastAPI(lifespan=self._lifespan)
        self.app.include_router(router(self.hub))
        self._started = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 15)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self.app, log_level="warning", timeout_graceful_shutdown=5)
        self._uvicorn = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        self.hub.start()
        self._started.set()
        yield
        await self.hub.stop(1.0)

    async def _serve(self) -> None:
        await self._uvicorn.serve([self._socket])

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(PATIENCE_S)

    def stop(self) -> None:
        """As a server should: first the streams, then the connections."""
        self.hub.drain()
        self._uvicorn.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


@contextlib.contextmanager
def serving(bench: Bench, **more: Any) -> Iterator[Server]:
    server = Server(bench, **more)
    server.start()
    try:
        yield server
    finally:
        server.stop()
