"""Clients of `/mcp` that write their messages themselves, so that no SDK's work is measured."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_EVENT = re.compile(rb'"eventId":"[^"]+","name":"[^"]+","timestamp":"([^"]+)"')
_OPEN_S = 30
Json = dict[str, Any]


def message(method: str, params: Json) -> tuple[bytes, dict[str, str]]:
    """Return the body of a request and its headers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
        "mcp-name": str(params.get("name")),
    }
    return json.dumps(body).encode(), headers


class McpClient:
    """A persistent connection to `/mcp`, at the newest version."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"))

    def ask(self, method: str, params: Json) -> Json:
        """Return the result.  Raises RuntimeError for a refusal."""
        body, headers = message(method, params)
        self._connection.request("POST", "/mcp", body, headers)
        text = self._connection.getresponse().read()
        answer = json.loads(text.partition(b"data: ")[2] or text)
        result: Json = answer.get("result") or {"isError": True}
        if result.get("isError"):
            raise RuntimeError(f"{method}: {text[:300]!r}")
        return result

    def call(self, tool: str, **arguments: Any) -> Json:
        body: Json = self.ask("tools/call", {"name": tool, "arguments": arguments})
        structured: Json = body["structuredContent"]
        return structured


class EventStream(asyncio.Protocol):
    """One open `events/stream` of `rtes.event`.

    on_event: called with the timestamp of each event's record, as it stands in the message.
    active: done when the gateway has begun to send.
    """

    def __init__(self, arguments: Json, on_event: Callable[[bytes], None]) -> None:
        self.active: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arguments, self._on_event = arguments, on_event
        self._text = b""
        self._transport: asyncio.Transport | None = None

    async def open(self, url: str) -> None:
        """Connect, and wait until the stream is active.

        Raises RuntimeError if it is refused, TimeoutError.
        """
        address = urlsplit(url)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_OPEN_S):
            await loop.create_connection(lambda: self, address.hostname or "", address.port or 0)
            await self.active

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        params = {"name": "rtes.event", "arguments": self._arguments}
        body, headers = message("events/stream", params)
        lines = ["POST /mcp HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)

    def data_received(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            if not line.startswith(b"data: "):
                continue
            if (event := _EVENT.search(line)) is not None:
                self._on_event(event[1])
            elif not self.active.done():
                self.active.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.active.done():
            self.active.set_exception(RuntimeError(f"the stream is refused: {self._text[:300]!r}"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
