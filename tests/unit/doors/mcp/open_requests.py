"""Requests that stay open: an application whose answers are read while they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from streams.gateway.app import create_app
from tests.unit.doors.mcp.bench import MODERN, Json, McpBench
from tests.unit.doors.mcp.test_tasks import message

FACTS: Json = {"topic": "sap.acks"}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Wire:
    """An application, and what it sends to open requests; its transport does not wait for ends."""

    def __init__(self, app: Any, headers: Json) -> None:
        self._app, self._headers = app, headers

    def _scope(self, method: str) -> Json:
        names = {
            **self._headers,
            "host": "localhost",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": MODERN,
            "mcp-method": method,
        }
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "headers": [(name.encode(), str(value).encode()) for name, value in names.items()],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }

    async def open(self, method: str, params: Json) -> AsyncGenerator[Json, None]:
        """Yield the messages of the answer; the client goes when the iterator is closed."""
        chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        unread = [{"type": "http.request", "body": message(method, params), "more_body": False}]
        gone = asyncio.Event()

        async def receive() -> Any:
            if unread:
                return unread.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(part: Any) -> None:
            chunks.put_nowait(part.get("body") or b"")
            if part["type"] == "http.response.body" and not part.get("more_body"):
                chunks.put_nowait(None)

        answering = asyncio.create_task(self._app(self._scope(method), receive, send))
        text = b""
        try:
            while (chunk := await chunks.get()) is not None:
                text += chunk
                while b"\r\n\r\n" in text:
                    frame, _, text = text.partition(b"\r\n\r\n")
                    if b"data: " in frame:
                        yield json.loads(frame.partition(b"data: ")[2])
            if text.startswith(b"{"):
                yield json.loads(text)
        finally:
            gone.set()
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)


def serve(bench: McpBench, work: Callable[[Wire], Any], token: str | None = None) -> Any:
    async def run() -> Any:
        inner = bench.bench
        app = create_app(inner.settings, inner.bench.log, inner.view, clock=lambda: inner.bench.now)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        async with app.router.lifespan_context(app):
            async with asyncio.timeout(60):
                return await work(Wire(app, headers))

    return asyncio.run(run())


async def call(wire: Wire, topic: str, envelope: Json, wait: str = "verdict") -> Json:
    arguments = {"topic": topic, "envelope": envelope, "wait": wait, "wait_s": 30}
    params = {"name": "send", "arguments": arguments}
    wire._headers["mcp-name"] = "send"
    try:
        async for answer in wire.open("tools/call", params):
            if "id" in answer:
                outcome: Json = answer["result"]
                return outcome
    finally:
        del wire._headers["mcp-name"]
    raise AssertionError("no answer")


async def next_of(stream: AsyncIterator[Json], name: str) -> Json:
    async for each in stream:
        if each.get("method") == f"notifications/{name}":
            params: Json = each["params"]
            assert params["_meta"][SUBSCRIPTION] == 1
            return params
        assert each.get("method") == "notifications/events/heartbeat", each
    raise AssertionError("the stream has ended")
