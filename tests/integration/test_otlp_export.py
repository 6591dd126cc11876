"""Spans are exported from a real Kafka: over kills, over failures of the backend, and twice."""

from __future__ import annotations

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.integration.system import Live, live
from tests.integration.test_gateway import got
from tests.processes import Process, named, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TURN = json.loads(
    (Path(__file__).resolve().parents[2] / "schemas/examples/saop/turn.json").read_text()
)
TURNS = 200


class Backend(ThreadingHTTPServer):
    """A backend of spans.  statuses: what it answers next, before it takes everything."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses: list[int] = []
        self.spans: list[Span] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            request = ExportTraceServiceRequest.FromString(body)
            scopes = [scope for each in request.resource_spans for scope in each.scope_spans]
            self.server.spans += [span for scope in scopes for span in scope.spans]
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *values: Any) -> None:
        """Say nothing."""


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        yield server


@contextmanager
def serving() -> Iterator[Backend]:
    """Run a backend of spans."""
    with Backend() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def system(broker: str, tmp_path: Path) -> Iterator[Live]:
    with live(broker, tmp_path) as system:
        yield system


def logged_turns(http: httpx.Client, task_id: str) -> list[Any]:
    items: list[Any] = got(http, "/v1/saop/turns", task_id=task_id, limit="1000")["items"]
    return items


def send_turns(system: Live, task_id: str) -> None:
    """Send turns, and wait until each has its verdict."""
    turns = [
        {**TURN, "turn_index": index, "metadata": {**TURN["metadata"], "task_id": task_id}}
        for index in range(TURNS)
    ]
    with system.client as http:
        answer = http.post("/v1/saop/turns", json=turns)
        assert answer.status_code == 202, answer.text
        wait_for(
            lambda: len(logged_turns(http, task_id)) == TURNS,
            "all turns are logged",
        )


def start(system: Live, url: str, *arguments: str, **more: str) -> Process:
    """Export to a backend.  more: variables of the exporter."""
    environ = {
        **named({**system.environ, "STATE_DIR": str(system.folder / "export")}),
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20",
        **more,
    }
    return Process(
        "export",
        system.folder / "export.log",
        environ,
        "streams.cli",
        "export",
        "otlp",
        *arguments,
    )


def ids_of(backend: Backend) -> Counter[tuple[bytes, bytes]]:
    return Counter((span.trace_id, span.span_id) for span in backend.spans)


def test_each_span_is_there_after_kills_and_failures(system: Live, backend: Backend) -> None:
    send_turns(system, "task-a")
    backend.statuses = [503, 500, 200, 429, 200]
    process = start(system, backend.url, "--from", "earliest")
    wait_for(lambda: len(backend.spans) >= 2 * TURNS, "half of the spans")
    process.kill()
    process = start(system, backend.url, "--from", "earliest", "--until-end")
    assert process.exit_code() == 0
    once = start(system, backend.url, "--from", "earliest", "--until-end", "--group", "second")
    assert once.exit_code() == 0
    assert f"exported {len(ids_of(backend))} spans, 0 refused" in once.text()
    names = Counter(span.name for span in {each.span_id: each for each in backend.spans}.values())
    assert names["send saop.turns"] == names["process saop.turns"] == names["saop.log"] == TURNS


def test_a_group_that_is_new_exports_what_comes_after_it(system: Live, backend: Backend) -> None:
    send_turns(system, "task-a")
    assert start(system, backend.url, "--until-end").exit_code() == 0
    assert backend.spans == []
    send_turns(system, "task-b")
    assert start(system, backend.url, "--until-end").exit_code() == 0
    assert set(ids_of(backend).values()) == {1}
    names = Counter(span.name for span in backend.spans)
    assert names["send saop.turns"] == names["process saop.turns"] == names["saop.log"] == TURNS


def test_refused_spans_are_counted_and_hold_up_no_other(system: Live, backend: Backend) -> None:
    send_turns(system, "task-a")
    backend.statuses = [400] * 5  # a batch of 20, its first halves down to one span
    process = start(system, backend.url, "--from", "earliest", "--until-end")
    assert process.exit_code() == 1
    assert "1 refused" in process.text()
