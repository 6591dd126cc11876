"""The connections of a gateway, on a real port: how many there are, and which ones end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from typing import Any, Literal

import pytest
import uvicorn
import uvloop
from fastapi import FastAPI

from streams.gateway.http_protocol import BoundedProtocol
from tests.processes import wait_for

PATIENCE_S = 60


@contextmanager
def serving(
    max_connections: int, app: Any = None, lifespan: Literal["on", "off"] = "off", **bounds: Any
) -> Iterator[int]:
    """The port of a server; without an app of one of nothing."""
    bounded: Any = partial(BoundedProtocol, max_connections=max_connections, waiting={}, **bounds)
    config = uvicorn.Config(
        app or FastAPI(), http=bounded, log_level="error", ws="none", lifespan=lifespan
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: _run(server.serve([listener])))
        thread.start()
        try:
            wait_for(lambda: server.started, "the server has started", PATIENCE_S)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


def _run(serving: Coroutine[Any, Any, None]) -> None:
    """Run on the event loop that a gateway has."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serving)


@contextmanager
def connected(port: int) -> Iterator[HTTPConnection]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.connect()
    try:
        yield connection
    finally:
        connection.close()


def get_status(connection: HTTPConnection) -> int:
    """The status of a request."""
    connection.request("GET", "/")
    answer = connection.getresponse()
    answer.read()
    return answer.status


class Held:
    """An app whose responses wait until they are released."""

    def __init__(self) -> None:
        self.requests = 0
        self._released = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self.requests += 1
        await self._released.wait()
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body"})

    def release(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._released.set)


def test_one_too_many_takes_the_place_of_the_one_that_waits_longest() -> None:
    with serving(3) as port, ExitStack() as stack:
        connections = [stack.enter_context(connected(port)) for _ in range(3)]
        assert [get_status(each) for each in connections] == [404, 404, 404]
        assert get_status(connections[0]) == 404  # so the second waits longest
        fourth = stack.enter_context(connected(port))
        assert get_status(fourth) == 404
        assert connections[1].sock.recv(1) == b""
        assert [get_status(connections[n]) for n in (0, 2)] == [404, 404]


def test_connections_that_send_nothing_keep_nobody_out() -> None:
    with serving(2) as port, ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(port))
        assert get_status(stack.enter_context(connected(port))) == 404


def test_one_too_many_is_refused_where_all_have_requests() -> None:
    app = Held()
    with serving(2, app) as port, ExitStack() as stack:
        stack.callback(app.release)
        connections = [stack.enter_context(connected(port)) for _ in range(2)]
        for each in connections:
            each.request("GET", "/")
        wait_for(lambda: app.requests == 2, "both have requests", PATIENCE_S)
        with connected(port) as third:
            response = b"".join(iter(lambda: third.sock.recv(4096), b"")).decode()
            assert response.startswith("HTTP/1.1 503 ")
            assert '"rule":"service_unavailable"' in response
        app.release()
        assert [each.getresponse().status for each in connections] == [404, 404]


def test_there_is_room_again_when_one_leaves() -> None:
    with serving(1) as port:
        with connected(port) as first:
            assert get_status(first) == 404

        def taken() -> bool:
            with suppress(OSError), connected(port) as following:  # it may be closed under us
                return get_status(following) == 404
            return False

        wait_for(taken, "the next one is taken", PATIENCE_S)


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
PADDING = b"x" * 4096


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (CHUNKED + b"0\r\n", b"a: b\r\n" * 512),
        (CHUNKED + b"0\r\na: ", PADDING),
        (CHUNKED + b"1;a=", PADDING),
        (b"POST / HTTP/1.1\r\na: ", PADDING),
    ],
    ids=["trailers", "one trailer", "extension of a chunk", "header"],
)
def test_what_is_no_body_has_an_end(head: bytes, more: bytes) -> None:
    with serving(1) as port, socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
        client.sendall(head)
        with suppress(OSError):  # it is closed under us
            for _ in range(10_000):
                client.sendall(more)
            pytest.fail("it takes forty megabytes")


def test_trailers_are_no_headers_of_the_request() -> None:
    seen: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        seen.extend(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    with serving(1, app) as port, socket.create_connection(("127.0.0.1", port), PATIENCE_S) as one:
        one.sendall(CHUNKED + b"2\r\nab\r\n0\r\nauthorization: Bearer c\r\n\r\n")
        assert one.recv(4096).startswith(b"HTTP/1.1 204 ")
    assert seen == [b"host", b"transfer-encoding"]


@pytest.mark.parametrize("chunk", [1 << 10, 1 << 20])
def test_a_large_body_passes(chunk: int) -> None:
    with serving(1, _length) as port, connected(port) as client:
        client.request("POST", "/", iter([b"x" * chunk] * (4 << 20 >> chunk.bit_length() - 1)))
        assert client.getresponse().read() == b"4194304"


async def _length(scope: Any, receive: Any, send: Any) -> None:
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": str(length).encode()})
