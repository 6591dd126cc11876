"""The route as HTTP clients meet it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent

from streams.gateway.live_tail import PATH
from streams.gateway.live_tail.events import TYPES
from tests.unit.gateway.sse.harness import PATIENCE_S, TRANSITION, Bench
from tests.unit.gateway.sse.serving import Server, serving


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def bench() -> Bench:
    return Bench(2)


@pytest.fixture
def server(bench: Bench) -> Iterator[Server]:
    with serving(bench) as server:
        yield server


def get(server: Server, query: str = "", cursor: str | None = None) -> httpx.Response:
    """An answer that is no stream."""
    headers = {} if cursor is None else {"Last-Event-ID": cursor}
    return httpx.get(f"{server.url}{PATH}{query}", headers=headers)


def follow(server: Server, query: str, count: int, cursor: str = "") -> list[ServerSentEvent]:
    """So many events of a stream, opened as a browser does."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": cursor} if cursor else {})
    events: list[ServerSentEvent] = []
    with httpx.stream("GET", f"{server.url}{PATH}{query}", headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        for event in EventSource(response).iter_sse():
            if event.data:
                events.append(event)
            if len(events) == count:
                return events
    return events


def test_a_stream_is_read_and_resumed(bench: Bench, server: Server) -> None:
    bench.send("s", 5)
    first = follow(server, "?session_id=s&from=earliest", 2)
    assert [(event.id, event.event) for event in first] == [("s:1", "message"), ("s:2", "message")]
    assert json.loads(first[0].data)["payload"]["type"] == "SANDBOX_PULSE"
    following = follow(server, "?session_id=s&from=earliest", 3, "s:2")
    assert [event.id for event in following] == ["s:3", "s:4", "s:5"]
    assert [event.id for event in follow(server, "?session_id=s&cursor=s:3", 1)] == ["s:4"]
    assert [e.id for e in follow(server, "?session_id=s&cursor=s:3", 1, "s:4")] == ["s:5"]


def test_filters_are_repeatable(bench: Bench, server: Server) -> None:
    for session_id in "abc":
        bench.send(session_id)
        bench.send(session_id, kind=TRANSITION, task_id="x y")
    query = f"?session_id=a&session_id=b&type={TRANSITION}&task_id=x%20y&task_id=z&from=earliest"
    values = [json.loads(event.data) for event in follow(server, query, 2)]
    assert {(value["session_id"], value["sequence"]) for value in values} == {("a", 2), ("b", 2)}


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("?colour=red", "colour"),
        ("?from=now", "from"),
        ("?from=latest&from=latest", "from"),
        ("?cursor=0:1&cursor=0:1", "cursor"),
        ("?type=THOUGHT", "type"),
        (f"?type={TRANSITION}&type=", "type"),
        ("?cursor=0:-1&from=", "from"),
    ],
)
def test_parameters_that_are_refused(server: Server, query: str, path: str) -> None:
    answer = get(server, query)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["rule"], answer.json()["path"]) == ("query_value", path)


@pytest.mark.parametrize(
    ("status", "rule", "query", "cursor"),
    [
        (400, "cursor_invalid", "?cursor=x", None),
        (400, "cursor_invalid", "?cursor=", None),
        (400, "cursor_invalid", "", "s:1"),
        (400, "cursor_invalid", "?session_id=s", "0:1"),
        (400, "cursor_invalid", "?cursor=0:1", "x"),
        (409, "cursor_ahead", "?cursor=0:99", None),
        (409, "cursor_ahead", "?session_id=s", "s:99"),
        (410, "cursor_expired", "?cursor=0:-1,1:0", None),
        (410, "cursor_expired", "?session_id=s", "s:1"),
    ],
)
def test_cursors_that_are_refused(
    bench: Bench, server: Server, status: int, rule: str, query: str, cursor: str | None
) -> None:
    bench.send("s", 5)
    bench.truncate("s", 3)
    answer = get(server, query, cursor)
    assert (answer.status_code, answer.json()["rule"]) == (status, rule)
    assert answer.json()["path"] == ("cursor" if cursor is None else "Last-Event-ID")
    assert server.hub.clients == 0
    if status == 410:
        named = answer.json()["earliest"]
        events = follow(server, query.split("cursor")[0], 1, named)
        assert json.loads(events[0].data)["sequence"] == 4


def test_too_many_clients_are_told_to_come_later(bench: Bench) -> None:
    with serving(bench, max_clients=0) as server:
        answer = get(server)
        assert (answer.status_code, answer.json()["rule"]) == (503, "service_unavailable")
        assert int(answer.headers["retry-after"]) > 0


def test_a_client_that_leaves_is_noticed(server: Server) -> None:
    with httpx.stream("GET", f"{server.url}{PATH}") as response:
        chunks = response.iter_raw()
        assert next(chunks).startswith(b"id: ")
        until(lambda: server.hub.clients == 1)
    until(lambda: server.hub.clients == 0)


def test_a_server_that_stops_ends_its_streams_with_their_cursors(bench: Bench) -> None:
    with serving(bench) as server, httpx.stream("GET", f"{server.url}{PATH}") as response:
        chunks = response.iter_raw()
        opening = next(chunks)
        server.hub.drain()
        assert [*chunks] == [opening]
        assert get(server).status_code == 503


def stuck(server: Server, query: str = "") -> socket.socket:
    """A client that asks, and takes no more than the system does for it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE_S)
    client.connect(("127.0.0.1", server.port))
    client.sendall(f"GET {PATH}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    until(lambda: server.hub.clients == 1)
    return client


def test_a_client_that_takes_nothing_is_disconnected(bench: Bench) -> None:
    with serving(bench, patience_s=0.2) as server, stuck(server) as client:
        for _ in range(40):
            bench.send("s", line="x" * 200_000)
        until(lambda: server.hub.clients == 0)
        text = b""
        while got := client.recv(1 << 20):
            text += got
        assert text.count(b"id: ") < 40
        assert not text.endswith(b"0\r\n\r\n")


def test_a_client_that_is_slow_for_a_while_is_told_of_the_overflow(bench: Bench) -> None:
    with serving(bench) as server, stuck(server, "?session_id=s") as client:
        (stream,) = server.hub._streams
        for _ in range(60):
            bench.send("s", line="x" * 200_000)
        until(lambda: stream.subscriber.end == "overflow")
        text = b""
        while got := client.recv(1 << 20):
            text += got
            if b"0\r\n\r\n" in text[-20:]:
                break
        overflow = text[text.rindex(b"event: overflow") :].split(b"\n")[1].decode()
        last = json.loads(overflow.removeprefix("data: "))["cursor"]
        ids = [line[4:].decode() for line in text.split(b"\n") if line.startswith(b"id: ")]
        assert ids[-1] == last
        assert ids == [f"s:{n}" for n in range(len(ids))]
        assert [event.id for event in follow(server, "?session_id=s", 1, last)] == [f"s:{len(ids)}"]


def test_the_document_names_parameters_and_answers(server: Server) -> None:
    document: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    route = document["paths"][PATH]["get"]
    parameters = {parameter["name"]: parameter for parameter in route["parameters"]}
    assert set(parameters) == {"session_id", "type", "task_id", "from", "cursor", "Last-Event-ID"}
    assert parameters["type"]["schema"]["items"]["enum"] == list(TYPES)
    assert set(route["responses"]) == {"200", "400", "409", "410", "422", "503"}
    assert set(route["responses"]["200"]["content"]) == {"text/event-stream"}
    for status in ("400", "409", "410", "422", "503"):
        assert set(route["responses"][status]["content"]) == {"application/problem+json"}
