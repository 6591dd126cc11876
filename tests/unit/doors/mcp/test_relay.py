"""Tests of the relay from standard input and output to a gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx

from streams.doors.mcp.relay import Relay
from tests.unit.doors.mcp.bench import LEGACY, MODERN, Json

Handle = Callable[[httpx.Request], httpx.Response]
SLOW = "slow"
VERSION = "io.modelcontextprotocol/protocolVersion"


def message(method: str, id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def echo_headers(request: httpx.Request) -> httpx.Response:
    """Answer with the headers of the request as the result."""
    body = json.loads(request.content)
    if "id" not in body:
        return httpx.Response(202)
    names = ("mcp-protocol-version", "mcp-method", "mcp-name", "authorization")
    result: Json = {name: request.headers.get(name) for name in names}
    if body["method"] == "initialize":
        result["protocolVersion"] = LEGACY
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], "result": result})


class Gateway(httpx.AsyncBaseTransport):
    """A gateway that never answers the method `slow`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.cancelled = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if json.loads(request.content).get("method") == SLOW:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        return self._handle(request)


def relayed(
    lines: Sequence[bytes], handle: Handle = echo_headers, token: str | None = None
) -> list[Json]:
    """Return what the client gets."""
    written: list[Json] = []

    async def run() -> None:
        async def read() -> AsyncIterator[bytes]:
            for line in lines:
                yield line

        gateway = Gateway(handle)
        relay = Relay(
            "http://127.0.0.1:1", token, lambda text: written.append(json.loads(text)), gateway
        )
        await relay.run(read())

    asyncio.run(run())
    return written


def test_a_message_becomes_a_post_with_headers_from_its_body() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
    (reply,) = relayed([message("tools/call", 7, name="state", _meta=meta)], token="hr_x")
    assert (reply["id"], reply["result"]) == (
        7,
        {
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": "state",
            "authorization": "Bearer hr_x",
        },
    )


def test_names_beyond_ascii_are_encoded() -> None:
    (reply,) = relayed([message("tools/call", name="é")])
    assert reply["result"]["mcp-name"] == "=?base64?w6k=?="


def test_after_initialize_the_agreed_version_is_sent() -> None:
    replies = relayed([message("initialize"), message("tools/list", 2)])
    assert [reply["result"]["mcp-protocol-version"] for reply in replies] == [None, LEGACY]


def test_events_of_a_stream_come_one_a_line() -> None:
    def stream(request: httpx.Request) -> httpx.Response:
        events = ": ping\n\n" + "".join(f'event: message\ndata: {{"n": {n}}}\n\n' for n in (1, 2))
        return httpx.Response(200, text=events, headers={"content-type": "text/event-stream"})

    assert relayed([message("tools/call")], stream) == [{"n": 1}, {"n": 2}]


def test_a_notification_has_no_reply() -> None:
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    assert relayed([note, b"\n"]) == []


def test_a_cancelled_request_is_closed() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    replies = relayed([message(SLOW, 1), json.dumps(note).encode(), message("tools/list", 2)])
    assert [reply["id"] for reply in replies] == [2]


def test_a_problem_of_the_gateway_becomes_an_error() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"detail": "a token is needed", "rule": "token_missing"})

    (reply,) = relayed([message("tools/list", "a")], refuse)
    assert (reply["id"], reply["error"]["code"]) == ("a", -32603)
    assert reply["error"]["data"]["rule"] == "token_missing"


def test_a_gateway_that_is_gone_is_an_error_of_each_request() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    replies = relayed([message("tools/list", 1), message("tools/list", 2)], gone)
    rules = [(reply["id"], reply["error"]["data"]["rule"]) for reply in replies]
    assert rules == [(1, "gateway_unavailable"), (2, "gateway_unavailable")]


def test_lines_that_are_no_message() -> None:
    half = message("initialize", _meta={VERSION: "\ud800"}), message("tools/call", name="\udc00")
    deep = b"[" * 100_000
    codes = [reply["error"]["code"] for reply in relayed([b"{\n", b"[]\n", *half, deep])]
    assert codes == [-32700, -32600, -32700, -32700, -32700]
