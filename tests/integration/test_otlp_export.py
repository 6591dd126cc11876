"""Spans are exported from a real Kafka: over kills, over failures of the backend, and twice."""

from __future__ import annotations

import gzip
import json
import re
import signal
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from streams.engine.kafka import KafkaLog
from streams.engine.records import header
from streams.log.reading import partitions, records
from streams.ops.broker.network import pick_ports
from tests.integration.system import Live, live
from tests.integration.test_gateway import got
from tests.processes import Process, named, wait_for
from tests.unit.envelopes import ack, idea
from topology.apc import APC_INBOX

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TURN = json.loads(
    (Path(__file__).resolve().parents[2] / "schemas/examples/saop/turn.json").read_text()
)
TURNS = 200


class Backend(ThreadingHTTPServer):
    """A backend of spans.

    statuses: what it answers next, before it takes everything.  on_answer: called after each answer
    to spans that were taken.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses: list[int] = []
        self.spans: list[Span] = []
        self.on_answer: Callable[[], object] = lambda: None

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
        self.wfile.flush()
        if status == 200:
            self.server.on_answer()

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


def test_a_batch_that_was_answered_and_not_committed_is_sent_again_as_it_was(
    system: Live, backend: Backend
) -> None:
    send_turns(system, "task-a")
    process = start(system, backend.url, "--from", "earliest")
    backend.on_answer = process.kill
    wait_for(lambda: not process.running, "the exporter is killed")
    backend.on_answer = lambda: None
    assert backend.spans
    process = start(system, backend.url, "--from", "earliest", "--until-end")
    assert process.exit_code() == 0
    first: dict[tuple[bytes, bytes], Span] = {}
    repeated = 0
    for span in backend.spans:
        ids = span.trace_id, span.span_id
        repeated += ids in first
        assert first.setdefault(ids, span) == span
    assert repeated
    names = Counter(span.name for span in first.values())
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


def test_an_agent_answers_under_its_delivery(
    broker: str, tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send a packet, pass on the trace context of its delivery, and look at the spans of both."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.url)
    session = f"s-{uuid.uuid4().hex[:8]}"
    packet = idea(trace__session_id=session)
    with live(broker, tmp_path) as system, system.client as http:
        posted(http, "/v1/apc/packets", packet)
        tps = partitions(system.log, [system.prefix + APC_INBOX.name])
        wait_for(lambda: sum(system.log.ends(tps).values()) > 0, "the packet is delivered")
        (delivery,) = records(system.log, tps)
        context = (header(delivery, "traceparent") or b"").decode()
        posted(http, "/v1/apc/packets", ack(packet, 2), traceparent=context)
        assert start(system, backend.url, "--from", "earliest", "--until-end").exit_code() == 0
    spans = {span.span_id: span for span in backend.spans}
    delivered = spans[bytes.fromhex(context.split("-")[2])]
    sent = [span for span in spans.values() if span.name == "send apc.packets"]
    (answer,) = [span for span in sent if span.parent_span_id]
    assert (delivered.name, answer.parent_span_id) == ("send apc.inbox", delivered.span_id)
    assert len({span.trace_id for span in (*sent, delivered)}) == 1
    assert spans[delivered.parent_span_id].name == "process apc.packets"


def posted(http: httpx.Client, path: str, body: Any, **headers: str) -> None:
    answer = http.post(path, json=body, headers=headers)
    assert answer.status_code in (200, 202), answer.text


def test_metrics_say_how_far_the_export_is(system: Live, backend: Backend) -> None:
    send_turns(system, "task-a")
    (port,) = pick_ports([], 1)
    process = start(system, backend.url, "--from", "earliest", "--metrics", f"127.0.0.1:{port}")

    def figure(name: str) -> float | None:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        values = re.findall(rf"^{name} (\S+)$", text, re.MULTILINE)
        return float(values[0]) if values else None

    process.wait_text("metrics at")
    lag = "headrace_otlp_export_lag_records"
    wait_for(
        lambda: (figure("headrace_otlp_exported_spans_total") or 0) >= 3 * TURNS, "spans are sent"
    )
    wait_for(lambda: figure(lag) == 0, "nothing is left, markers of transactions either")
    assert httpx.get(f"http://127.0.0.1:{port}/readyz").json()["ready"]
    backend.statuses = [503] * 10_000
    send_turns(system, "task-b")
    wait_for(lambda: (figure(lag) or 0) >= 3 * TURNS, "the lag grows while the backend is away")
    process.kill()


def test_up_runs_an_exporter_where_a_variable_names_a_backend(
    broker: str, tmp_path: Path, backend: Backend
) -> None:
    prefix = f"up-{uuid.uuid4().hex[:8]}."
    settings = {"BOOTSTRAP": broker, "PREFIX": prefix, "GATEWAY": "127.0.0.1:0"}
    environ = {
        **named({**settings, "STATE_DIR": str(tmp_path / "state")}),
        "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
    }
    file = tmp_path / "idea.json"
    file.write_text(json.dumps(idea()))
    up = Process("up", tmp_path / "up.log", environ, "streams.cli", "up")
    up.wait_text("exporter process")
    command = ("streams.cli", "send", "apc.packets", str(file))
    assert Process("send", tmp_path / "send.log", environ, *command).exit_code() == 0
    names = {"send apc.packets", "process apc.packets", "send apc.inbox"}
    wait_for(lambda: names <= {span.name for span in backend.spans}, "its spans are exported")
    up.signal(signal.SIGTERM)
    assert up.exit_code() == 0, up.text()
    with closing(KafkaLog(broker, {}, "up")) as log:
        log.delete([name for name in log.topics() if name.startswith(prefix)])
