"""The endpoint of `POST /mcp`, which hands each message to the SDK's transport."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.types import Message, Receive, Scope, Send

from streams.api.problems import Response
from streams.doors.mcp.description import PATH
from streams.doors.mcp.exchange import ResponseWriter
from streams.doors.push.service import PushService
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, with_problems
from streams.gateway.http_response import make_response
from streams.gateway.request_parts import read_body

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from streams.doors.mcp.door import Door


_ONCE = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")
"""The headers that repeat the body."""
_HEADER_MISMATCH = -32020


class McpEndpoint:
    """The transport of one gateway; `run` is open as long as the gateway serves.

    push: what posts events to addresses, None without a key of gateways.

    The SDK is loaded in a thread meanwhile: a gateway is ready before that, and the first messages
    wait for it.
    """

    def __init__(
        self, gateway: Gateway, openapi: Callable[[], bytes], push: PushService | None = None
    ) -> None:
        self._gateway, self._openapi, self._push = gateway, openapi, push
        self._opened: asyncio.Future[StreamableHTTPSessionManager]
        self._door: Door

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        stopping = asyncio.Event()
        self._opened = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(self._serve(stopping))
        try:
            yield
        finally:
            stopping.set()
            await serving

    async def _serve(self, stopping: asyncio.Event) -> None:
        """Keep the SDK's transport open until the gateway stops."""
        try:
            manager = await asyncio.to_thread(self._make_manager)
        except Exception as exc:  # each message is answered with it
            self._opened.set_exception(exc)
            return
        async with manager.run():
            self._opened.set_result(manager)
            await stopping.wait()

    def _make_manager(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from streams.doors.mcp.door import new_door
        from streams.doors.mcp.server import make_server

        self._door = new_door(self._gateway, self._openapi, self._push)
        manager = StreamableHTTPSessionManager(
            make_server(self._door),
            stateless=True,
            max_request_body_size=self._gateway.settings.gateway_max_body_bytes,
        )
        _freeze()
        return manager

    async def open_door(self) -> Door:
        """Return the door once the SDK is loaded."""
        await asyncio.shield(self._opened)
        return self._door

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        """Return the method, path and endpoint of each."""
        return [("POST", PATH, with_problems(self._answer))]

    async def _answer(self, request: Request) -> HttpResponse:
        """Read the message within the gateway's limits.  Raises Refused."""
        names = [name for name, _ in request.scope["headers"]]
        for name in _ONCE:
            if names.count(name) > 1:
                return _refuse_repeated(name.decode())
        settings = self._gateway.settings
        limits = settings.gateway_max_body_bytes, settings.gateway_max_body_values
        body = await read_body(request, *limits, types=None)
        return _Exchange(await asyncio.shield(self._opened), body)


@cache
def _freeze() -> None:
    """Let full collections, which stop every thread, skip the SDK's objects; once in a process."""
    gc.collect()
    gc.freeze()


def _refuse_repeated(header: str) -> HttpResponse:
    """Refuse a header that is there twice, of which the SDK would see one alone."""
    error = {"code": _HEADER_MISMATCH, "message": f"the header {header} is there more than once"}
    answer = {"jsonrpc": "2.0", "id": None, "error": error}
    return make_response(Response(400, answer, fact=True))


class _Exchange(HttpResponse):
    """The response that the SDK's transport writes to one message."""

    def __init__(self, manager: StreamableHTTPSessionManager, body: bytes) -> None:
        super().__init__()
        self._manager = manager
        self._message = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = [{"type": "http.request", "body": self._message, "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        # Blanks around a value are no part of it, but the SDK would compare them with the body.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        writer = ResponseWriter(send)
        scope = writer.attach({**scope, "headers": headers})
        await self._manager.handle_request(scope, replay, writer.send)
