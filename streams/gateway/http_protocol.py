"""HTTP/1.1 with the limits that uvicorn lacks, and with problem details as error bodies."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from streams.api.media import PROBLEM_TYPE
from streams.api.problems import Response, problem
from streams.gateway.http_response import dump_json
from streams.gateway.limits import HEAD_S, MAX_HEAD, WRITE_BYTES, WRITE_S


class BoundedProtocol(HttpToolsProtocol):
    """A protocol that closes connections with large or slow headers, and those above the limit.

    A connection above the limit takes the place of the one that has waited longest for a request;
    it is refused where each has a request.
    It also closes those of clients that do not read: a response waits for them in its slot.

    The parts of a chunked body beside its data (trailers and chunk extensions) have the limit of
    headers; they are ignored, so trailers do not become headers of the request.
    """

    def __init__(
        self,
        *args: Any,
        max_connections: int,
        waiting: dict[BoundedProtocol, None],
        write_timeout_s: float = WRITE_S,
        **more: Any,
    ) -> None:
        """Make the protocol of one connection.

        waiting: the connections of the server without a request, the longest waiting first.
        """
        super().__init__(*args, **more)
        self._max_connections = max_connections
        self._waiting = waiting
        self._write_timeout_s = write_timeout_s
        self._write_timeout: asyncio.TimerHandle | None = None
        self._cycles: deque[RequestResponseCycle] = deque()
        """The unanswered requests: uvicorn tells only the last that the client is gone."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._waiting[self] = None
        self._begin_headers()
        if len(self.connections) > self._max_connections:
            longest = next(iter(self._waiting))
            if longest is not self:
                longest.drop()
                return
            detail = f"{self._max_connections} connections are open; try again later"
            self._refuse(problem(503, detail, "service_unavailable"))

    def drop(self) -> None:
        """Close the connection at once; it has no request."""
        self._waiting.pop(self, None)
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.pop(self, None)
        self._header_timeout.cancel()
        self._stop_write_timeout()
        for cycle in self._cycles:
            cycle.disconnected = not cycle.response_complete
            cycle.message_event.set()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timeout()

    def resume_writing(self) -> None:
        self._stop_write_timeout()
        super().resume_writing()

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
        self._waiting.pop(self, None)
        self._header_timeout.cancel()
        super().on_headers_complete()
        while self._cycles and self._cycles[0].response_complete:
            self._cycles.popleft()
        self._cycles.append(self.cycle)

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._waiting[self] = None
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(problem(400, "the request is not HTTP/1.1", "http_invalid"))

    def _begin_headers(self) -> None:
        self._in_headers, self._unread_bytes = True, 0
        timeout: asyncio.TimerHandle | None = getattr(self, "_header_timeout", None)
        if timeout is not None:
            timeout.cancel()
        self._header_timeout = asyncio.get_running_loop().call_later(HEAD_S, self._close_unfinished)

    def _start_write_timeout(self) -> None:
        """Close the connection unless the client reads `WRITE_BYTES` or all in time."""
        self._stop_write_timeout()
        self._write_timeout = asyncio.get_running_loop().call_later(
            self._write_timeout_s, self._close_unread, self.transport.get_write_buffer_size()
        )

    def _stop_write_timeout(self) -> None:
        if self._write_timeout is not None:
            self._write_timeout.cancel()
            self._write_timeout = None

    def _close_unread(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() > unsent - WRITE_BYTES:
            self.transport.abort()  # closing would wait for the client
        else:
            self._start_write_timeout()

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
