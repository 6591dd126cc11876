"""The doctor asks the backend of spans, where the variables of OpenTelemetry name one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from streams.ops.doctor.findings import Check, Level
from streams.ops.doctor.spans import backend
from streams.settings import Settings

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Backend(HTTPServer):
    """A backend that answers each request with one status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.requests: list[tuple[str, str, int]] = []


class Handler(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self) -> None:
        kind, size = self.headers["content-type"], int(self.headers["content-length"])
        self.rfile.read(size)
        self.server.requests.append((self.path, kind, size))
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with Backend() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{server.server_address[1]}")
        yield server
        server.shutdown()
        thread.join()


def check() -> Check:
    (check,) = backend(Settings())
    return check


def test_a_backend_that_answers_is_well(server: Backend) -> None:
    assert check().level is Level.OK
    ((path, kind, size),) = server.requests
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    assert size < 200  # no spans


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "HEADERS"), (404, "TRACES_ENDPOINT"), (500, "log of the backend")]
)
def test_an_answer_that_takes_no_spans_has_advice(
    server: Backend, status: int, advice: str
) -> None:
    server.status = status
    assert check().level is Level.FAIL
    assert str(status) in check().said
    assert advice in check().advice


def test_a_backend_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    assert (check().level, ENDPOINT in check().advice) == (Level.FAIL, True)


def test_settings_that_cannot_be_used_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert (check().level, "otlp_protocol" in check().said) == (Level.FAIL, True)


def test_nothing_is_asked_where_no_variable_names_a_backend(
    server: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert list(backend(Settings())) == []
    monkeypatch.delenv("OTEL_SDK_DISABLED")
    monkeypatch.delenv(ENDPOINT)
    assert list(backend(Settings())) == []
    assert server.requests == []
