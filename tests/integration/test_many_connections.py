"""Test that more connections than a process may have files leave a gateway its view."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.integration.system import Live
from tests.unit.envelopes import IDEA_ID, idea

CONNECTIONS, FILES = 1_100, 1_024
_CONNECT_S = 30
pytestmark = pytest.mark.slow


class LimitedLive(Live):
    """A system whose processes may have the usual number of files, and cannot raise it."""

    before = ("prlimit", f"--nofile={FILES}:{FILES}")


@pytest.fixture
def limited(broker: str, tmp_path: Path) -> Iterator[LimitedLive]:
    with LimitedLive(broker, tmp_path, GATEWAY_WAIT_S="30") as system:
        yield system


@contextmanager
def idle_connections(url: str, count: int) -> Iterator[None]:
    """Open connections that say nothing."""
    address = urlsplit(url)
    target = (address.hostname, address.port)
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(target, _CONNECT_S))
        yield


def test_idle_connections_beyond_the_limit_of_files_stop_nobody(limited: LimitedLive) -> None:
    with idle_connections(limited.url, CONNECTIONS):
        check_work(limited)
        assert len(list(Path(f"/proc/{limited.gateway.pid}/fd").iterdir())) < FILES
    check_work(limited)
    assert "Too many open files" not in limited.gateway.text()


def check_work(system: LimitedLive) -> None:
    """Send a packet, and check that the view comes to have it, and that the gateway is well."""
    session = f"s-{uuid.uuid4().hex[:8]}"
    with system.client as client:
        answer = client.post("/v1/apc/packets", json=idea(trace__session_id=session))
        assert answer.status_code == 202, answer.text
        (position,) = answer.json()["positions"]
        path = f"/v1/apc/sessions/{session}/packets/{IDEA_ID}"
        packet = client.get(path, params={"after": position})
        assert packet.status_code == 200, packet.text
        assert packet.json()["state"] == "ROUTED"
        assert [client.get(one).status_code for one in ("/healthz", "/readyz")] == [200, 200]
