"""The token that commands and clients send: given, or of HEADRACE_TOKEN."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from streams import Client
from streams.access.callers import bearer
from streams.errors import SettingsError, Unauthenticated
from streams.settings import Settings
from tests.unit.cli.test_cli import run

BODY = b'{"detail": "a bearer token is needed", "rule": "token_missing"}'


@contextmanager
def refusing() -> Iterator[tuple[str, list[str | None]]]:
    """The address of a server that refuses all, and the tokens that came."""
    came: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            came.append(self.headers["Authorization"])
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(401)
            self.send_header("content-length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", came
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("token", "environ_token", "sent"),
    [
        ("hr_a_b", None, "Bearer hr_a_b"),
        (None, "hr_c_d", "Bearer hr_c_d"),
        ("hr_a_b", "hr_c_d", "Bearer hr_a_b"),
        (None, None, None),
    ],
)
def test_a_client_sends_its_token(
    token: str | None, environ_token: str | None, sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TOKEN", environ_token or "")

    async def ask(address: str) -> None:
        async with Client(f"http://{address}", token=token) as client:
            await client.query("/v1/apc/packets")

    with refusing() as (address, came), pytest.raises(Unauthenticated, match="HEADRACE_TOKEN"):
        asyncio.run(ask(address))
    assert came == [sent]


def test_settings_may_hold_it() -> None:
    with refusing() as (address, came):

        async def ask() -> None:
            async with Client(f"http://{address}", settings=Settings(token="hr_e_f")) as client:
                await client.send("apc.packets", {})

        with pytest.raises(Unauthenticated):
            asyncio.run(ask())
    assert came == ["Bearer hr_e_f"]


def test_an_unknown_setting_is_told_here_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TOKKEN", "x")
    with pytest.raises(SettingsError, match="HEADRACE_TOKEN"):
        Client("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "command",
    [
        (
            *("asap", "request", "--to", "urn:asap:agent:a", "--skill", "s", "--conversation", "c"),
            *("--input", "{}"),
        ),
        ("rewind", "--session", "s", "--task", "t", "--repo", ".", "--dry-run"),
    ],
)
def test_commands_send_it(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TOKEN", "hr_a_b")
    with refusing() as (address, came):
        monkeypatch.setenv("HEADRACE_GATEWAY", address)
        assert run(*command).exit_code != 0
    assert set(came) == {"Bearer hr_a_b"}


def test_the_demo_has_no_use_for_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TOKENS", str(tmp_path / "tokens.jsonl"))
    out = run("demo")
    assert out.exit_code == 2
    assert "Unset HEADRACE_TOKENS" in out.output


@pytest.mark.parametrize("token", ["hr_a_b\nc", "hr_a_\xe9", "hr_a b"])
def test_what_no_header_may_have_is_refused_and_not_told(token: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_TOKEN is not a token") as caught:
        bearer(token)
    assert token not in str(caught.value)


def test_space_around_a_token_is_dropped() -> None:
    """As a file with the line ends of another system leaves it."""
    assert bearer("hr_a_b\r\n") == {"Authorization": "Bearer hr_a_b"}
    assert bearer(" ") == {}
