"""An MCP server of the official SDK on a port of this machine, which lists its tools in pages."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.processes import wait_for


class PagedServer:
    """A server with tools `t<page>-<number>`.

    pages: how many there are, None for one after the other without end.  cursors: those that
    clients have asked for, None for the first page.
    """

    def __init__(self, pages: int | None, page_tools: int) -> None:
        self.cursors: list[str | None] = []
        self._pages, self._page_tools = pages, page_tools
        self.server: Server[Any] = Server("Paged", version="1.2.3", on_list_tools=self._list)

    async def _list(
        self, ctx: object, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cursor = None if params is None else params.cursor
        self.cursors.append(cursor)
        page = int(cursor or 0)
        tools = [
            types.Tool(name=f"t{page}-{i}", input_schema={"type": "object"})
            for i in range(self._page_tools)
        ]
        more = self._pages is None or page + 1 < self._pages
        return types.ListToolsResult(tools=tools, next_cursor=f"{page + 1}" if more else None)


class GrowingServer:
    """A server with one tool, `grow_0`, which gets the next one with each call of a tool."""

    def __init__(self) -> None:
        self._tools = 1
        self._bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "Growing",
            version="1.0.0",
            on_list_tools=self._list,
            on_call_tool=self._grow,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        names = [f"grow_{number}" for number in range(self._tools)]
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return types.ListToolsResult(tools=tools)

    async def _grow(self, ctx: Any, params: Any) -> types.CallToolResult:
        self._tools += 1
        await self._bus.publish(ToolsListChanged())
        return types.CallToolResult(content=[])


@contextmanager
def serving(server: Server[Any], token: str | None = None) -> Iterator[str]:
    """Serve over HTTP in a thread, and yield the address.  token: 401 without this one."""
    app: ASGIApp = server.streamable_http_app(stateless_http=True)
    if token is not None:
        app = _guarded(app, f"Bearer {token}".encode())
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=5)
    web = uvicorn.Server(config)
    thread = threading.Thread(target=web.run, args=([listener],))
    thread.start()
    try:
        wait_for(lambda: web.started, "the MCP server listens")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        web.should_exit = True
        thread.join()
        listener.close()


def _guarded(app: ASGIApp, expected: bytes) -> ASGIApp:
    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != expected:
            await Response(status_code=401)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guard
