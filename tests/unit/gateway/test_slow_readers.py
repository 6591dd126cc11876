"""Clients that ask and read nothing do not keep others out."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.access import Role, TokenFile
from streams.access.tokens import new_token
from streams.api.route import Refused
from streams.gateway.guard import Guard
from streams.settings import Settings
from tests.processes import wait_for
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving
from tests.unit.gateway.test_guard import admit

PATIENCE_S = 60
RESPONSES = 50
_REQUEST = b"GET /asyncapi.json HTTP/1.1\r\nhost: localhost\r\n"
PIPELINED = (_REQUEST + b"\r\n") * RESPONSES
LAST = _REQUEST + b"connection: close\r\n\r\n"
MAX_REQUESTS = 4


class Crowd:
    """A gateway on a port, a token for it, and clients that read nothing."""

    def __init__(self, gateway: GatewayBench, port: int, token: str, stack: ExitStack) -> None:
        self.gateway, self.port, self._stack = gateway, port, stack
        self._headers = {"authorization": f"Bearer {token}"}

    def ask(self) -> httpx.Response:
        url = f"http://127.0.0.1:{self.port}/v1/apc/packets"
        return httpx.get(url, headers=self._headers, timeout=PATIENCE_S, trust_env=False)

    def connect(self, number: int) -> list[socket.socket]:
        """Open connections that ask for large documents."""
        return [self._connect() for _ in range(number)]

    def _connect(self) -> socket.socket:
        client = self._stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", self.port))
        client.sendall(PIPELINED)
        return client

    def count_slots(self) -> int:
        """Return the number of requests in flight, as the metrics show it."""
        text: str = self.gateway.ask("GET", "/metrics").text
        (line,) = (each for each in text.splitlines() if "in_flight" in each and each[0] != "#")
        return int(float(line.split()[-1]))


@contextmanager
def crowd(folder: Path, write_timeout_s: float) -> Iterator[Crowd]:
    token, entry = new_token("kim", frozenset({Role.READER}))
    tokens = folder / "tokens.jsonl"
    tokens.write_text(f"{entry.line()}\n")
    settings: dict[str, Any] = {"tokens": tokens, "gateway_max_requests": MAX_REQUESTS}
    with (
        GatewayBench(folder, **settings) as gateway,
        serving(100, gateway.app, write_timeout_s=write_timeout_s) as port,
        ExitStack() as stack,
    ):
        yield Crowd(gateway, port, token, stack)


def read_all(client: socket.socket) -> bytes:
    """Read until the end of a connection, whether it is closed or reset."""
    parts: list[bytes] = []
    with suppress(ConnectionResetError):
        parts.extend(iter(partial(client.recv, 65536), b""))
    return b"".join(parts)


def test_slots_are_left_to_those_with_a_token(tmp_path: Path) -> None:
    with crowd(tmp_path, PATIENCE_S) as attack:
        attack.connect(2 * MAX_REQUESTS)
        wait_for(lambda: attack.count_slots() == MAX_REQUESTS // 2, "slots are taken", PATIENCE_S)
        for _ in range(10):
            assert attack.ask().status_code == 200


def test_a_client_that_does_not_read_is_disconnected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with crowd(tmp_path, 0.5) as attack:
        clients = attack.connect(MAX_REQUESTS // 2)
        wait_for(lambda: attack.count_slots() == len(clients), "slots are taken", PATIENCE_S)
        wait_for(lambda: attack.count_slots() == 0, "slots are free", PATIENCE_S)
        for client in clients:
            assert read_all(client).count(b"HTTP/1.1 200 OK") < RESPONSES
    assert not [record for record in caplog.records if record.exc_info]


def test_clients_that_leave_without_reading_are_no_faults(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with crowd(tmp_path, PATIENCE_S) as attack:
        clients = attack.connect(MAX_REQUESTS // 2)
        wait_for(lambda: attack.count_slots() == len(clients), "slots are taken", PATIENCE_S)
        for client in clients:
            client.close()
        wait_for(lambda: attack.count_slots() == 0, "slots are free", PATIENCE_S)
    assert not [record for record in caplog.records if record.exc_info]


def test_a_client_that_keeps_reading_gets_all(tmp_path: Path) -> None:
    with crowd(tmp_path, 2) as attack:
        (client,) = attack.connect(1)
        client.sendall(LAST)
        responses = read_all(client).count(b"HTTP/1.1 200 OK")
    assert responses == RESPONSES + 1


def test_one_address_has_so_many_requests_without_a_token(tmp_path: Path) -> None:
    tokens = tmp_path / "t"
    tokens.write_text("")
    guard = Guard(TokenFile(tokens), Settings(gateway_peer_requests=2, gateway_max_requests=6))
    scope = {"method": "GET", "path": "/subjects", "headers": [], "client": ("192.0.2.1", 1)}
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(admit(guard, scope))
        with pytest.raises(Refused) as caught, admit(guard, scope):
            pass
        assert caught.value.response.status == 429
        stack.enter_context(admit(guard, {**scope, "client": ("192.0.2.2", 1)}))
        with pytest.raises(Refused) as full, admit(guard, {**scope, "client": ("192.0.2.3", 1)}):
            pass
        assert full.value.response.status == 503
        stack.enter_context(admit(guard, {**scope, "path": "/healthz"}))
    with admit(guard, scope) as caller:
        assert caller is None
