"""MCP over standard input and output: each message is one POST to a gateway's `/mcp`.

A relay is no second server: what the gateway answers is what the client gets.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx
import orjson
from httpx_sse import EventSource

from streams.access.callers import bearer
from streams.doors.mcp.description import PATH

Json = dict[str, Any]
Write = Callable[[bytes], None]
"""Takes one message without a line break."""
END_S = 5.0
"""How long what is under way may take after the end of the input, in seconds."""
_VERSION_META = "io.modelcontextprotocol/protocolVersion"
_VERSION, _METHOD, _NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_CANCELLED, _INITIALIZE = "notifications/cancelled", "initialize"
_PARSE_ERROR, _INVALID, _INTERNAL = -32700, -32600, -32603
_ACCEPT = "application/json, text/event-stream"
_TIMEOUT = httpx.Timeout(None, connect=5.0)


class Relay:
    """The relay of one client.  url: of the gateway.  write: takes what the client is to get."""

    def __init__(
        self,
        url: str,
        token: str | None,
        write: Write,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = f"{url}{PATH}"
        self._write = write
        self._http = httpx.AsyncClient(headers=bearer(token), timeout=_TIMEOUT, transport=transport)
        self._version: str | None = None
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    async def run(self, lines: AsyncIterator[bytes]) -> None:
        """Relay every message, and end with the input."""
        async with self._http:
            async for line in lines:
                if line.strip():
                    await self._take(line)
            if self._tasks:
                await asyncio.wait(self._tasks.values(), timeout=END_S)
            for task in list(self._tasks.values()):
                task.cancel()

    async def _take(self, line: bytes) -> None:
        try:
            message = orjson.loads(line)  # which refuses half of a surrogate pair
        except orjson.JSONDecodeError:
            self._send_error(None, _PARSE_ERROR, "Parse error")
            return
        if not isinstance(message, dict):
            self._send_error(None, _INVALID, "One JSON-RPC message a line, not a batch")
            return
        method, id = message.get("method"), message.get("id")
        if method == _CANCELLED:
            self._cancel(message)
        elif method == _INITIALIZE:  # what follows needs the version that it agrees on
            await self._relay(message, line)
        else:
            task = asyncio.create_task(self._relay(message, line))
            key = _key(id) if id is not None else object()
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def _cancel(self, message: Json) -> None:
        params = message.get("params")
        request = params.get("requestId") if isinstance(params, dict) else None
        task = self._tasks.get(_key(request))
        if task is not None:
            task.cancel()

    async def _relay(self, message: Json, line: bytes) -> None:
        """Post a message, and write what comes back."""
        id = message.get("id")
        try:
            async with self._http.stream(
                "POST", self._url, content=line, headers=headers_of(message, self._version)
            ) as response:
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    async for event in EventSource(response).aiter_sse():
                        if event.data:
                            self._pass_on(message, event.data.encode())
                else:
                    self._answer(message, response.status_code, await response.aread())
        except httpx.HTTPError as exc:
            if id is not None:
                detail = f"no gateway answers at {self._url}: {str(exc) or type(exc).__name__}"
                self._send_error(id, _INTERNAL, detail, "gateway_unavailable")

    def _answer(self, message: Json, status: int, body: bytes) -> None:
        """Write a response that is no stream; what is no JSON-RPC becomes an error."""
        id = message.get("id")
        try:
            value = json.loads(body) if body else None
        except ValueError:
            value = None
        if isinstance(value, dict) and "jsonrpc" in value:
            self._pass_on(message, body)
        elif id is not None:
            problem: Mapping[str, Any] = value if isinstance(value, dict) else {}
            detail = str(problem.get("detail") or f"the gateway answers {status}")
            self._send_error(id, _INTERNAL, detail, problem.get("rule"))

    def _pass_on(self, message: Json, text: bytes) -> None:
        if message.get("method") == _INITIALIZE:
            result = json.loads(text).get("result") or {}
            self._version = result.get("protocolVersion", self._version)
        self._write(text.replace(b"\r", b"").replace(b"\n", b""))

    def _send_error(self, id: Any, code: int, detail: str, rule: str | None = None) -> None:
        error: Json = {"code": code, "message": detail}
        if rule is not None:
            error["data"] = {"rule": rule, "detail": detail}
        self._write(orjson.dumps({"jsonrpc": "2.0", "id": id, "error": error}))


def headers_of(message: Json, version: str | None = None) -> dict[str, str]:
    """Return the headers that repeat parts of a message.

    version: the one that `initialize` agreed on; `_meta` may name another.
    """
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    named = meta.get(_VERSION_META) if isinstance(meta, dict) else None
    name = params.get(_NAMED_BY.get(str(method), "taskId"))
    headers = {"Content-Type": "application/json", "Accept": _ACCEPT}
    values = {_VERSION: named or version, _METHOD: method, _NAME: name}
    return headers | {
        header: _encode(value) for header, value in values.items() if isinstance(value, str)
    }


def _key(id: Any) -> str:
    """Return an id as a key, in which 1 and "1" differ."""
    return json.dumps(id)


def _encode(value: str) -> str:
    """Return a header's value; what headers cannot carry is encoded as MCP says."""
    from mcp.shared.inbound import encode_header_value

    return encode_header_value(value)
