"""A gateway in memory, and official MCP clients that ask it over HTTP without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from streams.access import Role
from streams.access.tokens import new_token
from streams.gateway.app import create_app
from tests.unit.protocols.asap.routes.asap_bench import AsapBench, asap_bench

T = TypeVar("T")
Json = dict[str, Any]
URL = "http://localhost/mcp"
ACCEPT = "application/json, text/event-stream"
MODERN, LEGACY = "2026-07-28", "2025-11-25"


class McpBench:
    """Each use has an application of its own, since one serves only once.

    metrics: those of the application of the last use.
    """

    def __init__(self, bench: AsapBench, tokens: Path | None) -> None:
        self.bench = bench
        self._tokens = tokens
        self.metrics = ""

    def new_token(self, *roles: Role, principal: str = "kim") -> str:
        assert self._tokens is not None
        token, record = new_token(principal, frozenset(roles))
        with self._tokens.open("a") as file:
            file.write(f"{record.line()}\n")
        return token

    def use(
        self, work: Callable[[Client], Awaitable[T]], token: str | None = None, mode: str = "auto"
    ) -> T:
        """Return what `work` returns, given a client that has connected.  Raises MCPError."""

        async def run(http: httpx2.AsyncClient) -> T | MCPError:
            transport = streamable_http_client(URL, http_client=http)
            async with Client(transport, mode=mode) as client:
                try:
                    return await work(client)
                except MCPError as exc:  # raised here, it would come as a group
                    return exc

        answer = self.serve(run, token)
        if isinstance(answer, MCPError):
            raise answer
        return answer

    def call(
        self, tool: str, token: str | None = None, mode: str = "auto", **arguments: Any
    ) -> Any:
        """Return the result of one call."""
        return self.use(lambda client: client.call_tool(tool, arguments), token, mode)

    def post(self, content: bytes, token: str | None = None, **headers: str) -> httpx2.Response:
        """Return the response to one raw POST."""
        names = {
            "content-type": "application/json",
            "accept": ACCEPT,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }

        async def run(http: httpx2.AsyncClient) -> httpx2.Response:
            return await http.post(URL, content=content, headers=names)

        return self.serve(run, token)

    def serve(
        self, run: Callable[[httpx2.AsyncClient], Awaitable[T]], token: str | None = None
    ) -> T:
        """Return what `run` returns, given a client of HTTP."""
        bench = self.bench

        async def serve() -> T:
            app = create_app(
                bench.settings, bench.bench.log, bench.view, clock=lambda: bench.bench.now
            )
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            transport = httpx2.ASGITransport(app)
            async with (
                app.router.lifespan_context(app),
                httpx2.AsyncClient(transport=transport, headers=headers) as http,
            ):
                answer = await run(http)
                self.metrics = (await http.get("http://localhost/metrics")).text
                return answer

        return asyncio.run(serve())


@contextmanager
def mcp_bench(folder: Path, *, with_tokens: bool = False, **settings: Any) -> Iterator[McpBench]:
    tokens = folder / "tokens.jsonl" if with_tokens else None
    if tokens is not None:
        tokens.write_text("")
        settings["tokens"] = tokens
    with asap_bench(folder, **settings) as bench:
        yield McpBench(bench, tokens)
