"""`headrace ready`."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from streams.settings import Settings
from streams.settings.addresses import GatewayAddress, address_file, published
from tests.unit.cli.test_cli import run

READY, NOT_YET = (200, '{"ready": true}'), (503, '{"ready": false, "broker": {"up": false}}')
Said = tuple[int, str]


@contextmanager
def answering(*says: Said) -> Iterator[str]:
    """The address of a server that gives these answers at /readyz, the last one again and again."""
    left = list(says)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/readyz"
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(("response", "code"), [(READY, 0), (NOT_YET, 1)])
def test_the_exit_code_is_the_answer(response: Said, code: int) -> None:
    with answering(response) as address:
        result = run("ready", address)
    assert result.exit_code == code
    assert json.loads(result.stdout) == json.loads(response[1])


def test_without_an_address_it_asks_the_gateway_of_the_state_directory(
    nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("HEADRACE_GATEWAY", nobody)
    path = address_file(Settings.load())
    path.parent.mkdir(parents=True)
    with answering(READY) as address:
        running = GatewayAddress(f"http://{address}", "127.0.0.1:9092", "", os.getpid())
        with published(path, running):
            assert run("ready").exit_code == 0
        assert run("ready").exit_code == 3


def test_without_an_address_it_asks_the_worker_and_else_the_gateway(
    nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(READY) as address:
        for worker, gateway in ((address, nobody), (nobody, address), ("", address)):
            monkeypatch.setenv("HEADRACE_METRICS", worker)
            monkeypatch.setenv("HEADRACE_GATEWAY", gateway)
            assert run("ready").exit_code == 0


def test_who_listens_on_all_addresses_is_asked_on_loopback() -> None:
    with answering(READY) as address:
        assert run("ready", f"0.0.0.0:{address.partition(':')[2]}").exit_code == 0


def test_it_waits_until_the_answer_is_yes() -> None:
    with answering(NOT_YET, NOT_YET, READY) as address:
        assert run("ready", address, "--wait", "60").exit_code == 0


def test_no_answer_is_a_matter_of_infrastructure(nobody: str) -> None:
    result = run("ready", nobody)
    assert result.exit_code == 3
    assert f"nothing answers at {nobody}" in result.stderr


@pytest.mark.parametrize("body", ["no JSON", "[]", "{}"])
def test_an_answer_of_something_else_is_none(body: str) -> None:
    with answering((200, body)) as address:
        assert run("ready", address).exit_code == 3


def test_an_address_is_a_host_and_a_port() -> None:
    result = run("ready", "nowhere")
    assert result.exit_code == 2
    assert "host:port" in result.stderr
