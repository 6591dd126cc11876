"""Receivers of events on a port of this machine, which answer as a test says."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

_PATIENCE_S = 20


class Received(NamedTuple):
    """A request.  path: with the query.  headers: by names in small letters."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Received], "tuple[int, bytes] | None"]
"""Returns status and body of the answer; None: there is none, and the connection stays open."""


def answer_challenges(received: Received) -> tuple[int, bytes]:
    """Answer as a receiver of MCP should: with the challenge of a verification, else 204."""
    value = json.loads(received.body)
    if isinstance(value, dict) and value.get("type") == "verification":
        return 200, json.dumps({"challenge": value["challenge"]}).encode()
    return 204, b""


class HttpReceiver:
    """A server of HTTP.  requests: those that came, in order.  answer: may be replaced."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Received] = []
        self.location: str | None = None
        self.port = 0
        self._changed = asyncio.Condition()

    def url(self, path: str = "/hook", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    async def wait_for(self, count: int) -> list[Received]:
        """Wait until so many requests came, and return all."""
        return await self.wait_until(lambda: len(self.requests) >= count)

    async def wait_until(self, has_come: Callable[[], bool]) -> list[Received]:
        """Wait until what a test expects has come, and return all requests."""
        async with asyncio.timeout(_PATIENCE_S), self._changed:
            await self._changed.wait_for(has_come)
        return self.requests

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            received = await _read(reader)
            async with self._changed:
                self.requests.append(received)
                self._changed.notify_all()
            answer = self.answer(received)
            if answer is None:
                await reader.read()  # until the sender gives up
                return
            status, body = answer
            location = "" if self.location is None else f"location: {self.location}\r\n"
            head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{location}"
            writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): text.strip() for name, _, text in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(first.split(" ")[1], headers, body)


@asynccontextmanager
async def receiving(
    answer: Answer = answer_challenges, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HttpReceiver]:
    """Serve while the block is open."""
    receiver = HttpReceiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
