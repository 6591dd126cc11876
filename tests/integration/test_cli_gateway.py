"""Check that commands ask a running gateway, and that its answer is that of the log."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest

from streams.settings.addresses import GatewayAddress, read_address
from tests.integration.system import Live
from tests.processes import ROOT, environ_of, named
from tests.unit.envelopes import ack, idea


@pytest.fixture
def session(system: Live) -> str:
    """A session with an acknowledged idea."""
    name = f"s-{uuid.uuid4().hex[:8]}"
    packet = idea(trace__session_id=name)
    with system.client as client:
        sent = client.post("/v1/apc/packets", json=[packet, ack(packet, 2)])
        after = {"after": sent.json()["positions"][-1], "session_id": name}
        assert client.get("/v1/apc/packets", params=after).json()["count"] == 2
    return name


def run(system: Live, folder: Path, *words: str, **settings: str) -> tuple[str, str]:
    """Return what a command prints on stdout and stderr."""
    environ = environ_of(named({**system.environ, "STATE_DIR": str(folder), **settings}))
    ran = subprocess.run(
        [sys.executable, "-m", "streams.cli", *words],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


def test_the_answer_of_the_gateway_is_that_of_the_log(
    system: Live, session: str, tmp_path: Path
) -> None:
    words = ("apc", "trace", "--session-id", session)
    from_gateway, silence = run(system, tmp_path, *words, URL=system.url)
    read, remark = run(system, tmp_path, *words, "--no-gateway")
    assert (from_gateway, silence) == (read, "")
    assert remark.startswith("no gateway: read the log in ")
    assert json.loads(from_gateway)["count"] == 2


def test_the_gateway_is_known_by_its_state_directory(
    system: Live, session: str, tmp_path: Path
) -> None:
    bootstrap = system.environ["BOOTSTRAP"]
    address = read_address(system.settings)
    assert address is not None
    assert address == GatewayAddress(system.url, bootstrap, system.prefix, address.pid)
    words = ("apc", "trace", "--session-id", session, "--text")
    printed, silence = run(system, system.settings.state_dir, *words)
    assert silence == ""
    assert "2 packets, 0 refused." in printed


def test_a_fresh_answer_has_all_that_was_on_the_log(system: Live, session: str) -> None:
    with system.client as client:
        for _ in range(20):
            fresh = client.get("/v1/apc/packets", params={"session_id": session, "fresh": "true"})
            assert (fresh.status_code, fresh.json()["count"]) == (200, 2)
        both = httpx.QueryParams({"as_of": "2026-01-01T00:00:00Z", "fresh": "true"})
        refused = client.get(f"/v1/saop/tasks?session_id=s&task_id=t&{both}")
        assert (refused.status_code, refused.json()["rule"]) == (422, "query_value")
