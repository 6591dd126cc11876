"""An MCP server of the official SDK that counts what it is asked, over HTTP in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pins, pins_of
from streams.agents.mcp.summit import SummitBridge
from streams.doors.mcp.foreign_manifest import manifest_of
from streams.doors.mcp.foreign_session import ForeignSession
from tests.unit.doors.mcp.foreign import serving

Json = dict[str, Any]
READ_ONLY = types.ToolAnnotations(read_only_hint=True)
Answer = Callable[[Any, types.CallToolRequestParams], Awaitable[types.CallToolResult]]


def text_result(text: str, **members: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], **members)


async def echo(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return text_result("done", structured_content={"arguments": params.arguments, "none": None})


class CountingServer:
    """A server with the tools `pay` and `look`, of which only `look` is read-only.

    calls: the names of the tools that were called.  metas: `_meta` of each call.
    answer: what each call does.  description: of both tools.
    """

    def __init__(self, answer: Answer = echo) -> None:
        self.answer, self.description = answer, "A tool."
        self.calls: list[str] = []
        self.metas: list[Any] = []
        self.server: Server[Any] = Server(
            "Payments",
            version="1.2.3",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_read_resource=self._read,
        )

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        hints = {"pay": None, "look": READ_ONLY}
        tools = [
            types.Tool(
                name=name,
                description=self.description,
                input_schema={"type": "object"},
                annotations=annotations,
            )
            for name, annotations in hints.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.calls.append(params.name)
        self.metas.append(params.meta)
        return await self.answer(ctx, params)

    async def _read(self, ctx: Any, params: Any) -> types.ReadResourceResult:
        text = types.TextResourceContents(uri=params.uri, text="all of it")
        return types.ReadResourceResult(contents=[text])


@asynccontextmanager
async def session_of(server: CountingServer) -> AsyncIterator[ForeignSession]:
    """Serve, and connect to the server for as long as the context lasts."""
    with serving(server.server) as url:
        session = ForeignSession(url, (), None, str)
        connecting = asyncio.create_task(session.run())
        try:
            yield session
        finally:
            connecting.cancel()
            await asyncio.wait({connecting})


@asynccontextmanager
async def summit_bridge(
    server: CountingServer, path: Path, timeout_s: float = 30.0
) -> AsyncIterator[tuple[SummitBridge, CallJournal]]:
    """Bridge to the server as an agent whose manifest is that of the server now."""
    async with session_of(server) as session:
        manifest, _ = manifest_of(await session.connect(), "payments", None)
        journal = CallJournal(path)
        try:
            yield SummitBridge(session, journal, Pins(pins_of(manifest)), timeout_s), journal
        finally:
            journal.close()
