"""HTTP/1.1 with the limits that uvicorn lacks, and with problem details as error bodies."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from streams.api.media import PROBLEM_TYPE
from streams.api.problems import Response, problem
from streams.gateway.http_response import dump_json
from streams.gateway.limits import HEAD_S, MAX_HEAD


class BoundedProtocol(HttpToolsProtocol):
    """A protocol that closes connections with large or slow headers, and those above the limit.

    The parts of a chunked body beside its data (trailers and chunk extensions) have the limit of
    headers; they are ignored, so trailers do not become headers of the request.
    """

    def __init__(self, *args: Any, max_connections: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self._max_connections = max_connections

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin_headers()
        if len(self.connections) > self._max_connections:
            detail = f"{self._max_connections} connections are open; try again later"
            self._refuse(problem(503, detail, "service_unavailable"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_timeout.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes <= 2 * MAX_HEAD:
            return
        if self._in_headers:
            detail = f"request line and headers are above {MAX_HEAD} bytes"
            self._refuse(problem(431, detail, "headers_too_large"))
        else:
            self.transport.close()  # a response may already be under way

    def on_message_begin(self) -> None:
        self._begin_headers()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._unread_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._header_timeout.cancel()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(problem(400, "the request is not HTTP/1.1", "http_invalid"))

    def _begin_headers(self) -> None:
        self._in_headers, self._unread_bytes = True, 0
        timeout: asyncio.TimerHandle | None = getattr(self, "_header_timeout", None)
        if timeout is not None:
            timeout.cancel()
        self._header_timeout = asyncio.get_running_loop().call_later(HEAD_S, self._close_unfinished)

    def _close_unfinished(self) -> None:
        if self._in_headers and not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, response: Response) -> None:
        if self.transport.is_closing():
            return
        text = dump_json(response.body)
        title: Any = response.body["title"]
        head = (
            f"HTTP/1.1 {response.status} {title}\r\ncontent-type: {PROBLEM_TYPE}\r\n"
            f"content-length: {len(text)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + text)
        self.transport.close()
