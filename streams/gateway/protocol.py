"""HTTP/1.1 within bounds: what uvicorn leaves open, and problem details where it has text."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from streams.api.media import PROBLEM_TYPE
from streams.api.problems import Response, problem
from streams.gateway.answer import dump
from streams.gateway.limits import HEAD_S, MAX_HEAD


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose headers are too large, or take too long, and one too many.

    What comes in a chunked body beside its data, trailers and extensions of chunks, is bounded
    like headers; nothing reads it, and trailers become no headers of the request.
    """

    def __init__(self, *args: Any, most_connections: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self._most_connections = most_connections

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin_head()
        if len(self.connections) > self._most_connections:
            detail = f"{self._most_connections} connections are open; try again later"
            self._refuse(problem(503, detail, "service_unavailable"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head <= 2 * MAX_HEAD:
            return
        if self._in_head:
            detail = f"request line and headers are above {MAX_HEAD} bytes"
            self._refuse(problem(431, detail, "headers_too_large"))
        else:
            self.transport.close()  # the answer may have begun

    def on_message_begin(self) -> None:
        self._begin_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._late.cancel()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(problem(400, "the request is not HTTP/1.1", "http_invalid"))

    def _begin_head(self) -> None:
        self._in_head, self._head = True, 0
        late: asyncio.TimerHandle | None = getattr(self, "_late", None)
        if late is not None:
            late.cancel()
        self._late = asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def _give_up(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, answer: Response) -> None:
        if self.transport.is_closing():
            return
        text = dump(answer.body)
        title: Any = answer.body["title"]
        head = (
            f"HTTP/1.1 {answer.status} {title}\r\ncontent-type: {PROBLEM_TYPE}\r\n"
            f"content-length: {len(text)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + text)
        self.transport.close()
