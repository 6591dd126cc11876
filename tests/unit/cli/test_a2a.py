"""Tests of `headrace a2a`, over a gateway that answers every request alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.a2a import command
from streams.errors import HeadraceError
from tests.unit.cli.stub_gateway import StubGateway

AGENT = {
    "agentId": "word-stats",
    "version": "1.2.0",
    "name": "word-stats",
    "description": "Counts words.",
    "card": "http://localhost/a2a/word-stats/.well-known/agent-card.json",
}


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubGateway]:
    with StubGateway() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HEADRACE_URL", f"http://{server.address}")
        monkeypatch.setenv("HEADRACE_TOKEN", "hr_a")
        yield server
        server.shutdown()
        thread.join()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, **main.context_settings)


def test_agents(gateway: StubGateway) -> None:
    """Print the agents, with the address of each card."""
    gateway.body = {"items": [AGENT], "next": None}
    result = run("agents")
    assert result.exit_code == 0, result.output
    assert "word-stats" in result.output
    assert AGENT["card"] in result.output
    ((path, token),) = gateway.requests
    assert path == "/v1/a2a/agents?limit=500&fresh=true"
    assert token == "Bearer hr_a"


def test_card(gateway: StubGateway) -> None:
    """Print the card as the gateway shows it."""
    gateway.body = {"name": "word-stats"}
    result = run("card", "word-stats")
    assert json.loads(result.output) == gateway.body
    assert gateway.requests[-1] == ("/a2a/word-stats/.well-known/agent-card.json", "Bearer hr_a")


def test_agent_that_is_not_there(gateway: StubGateway) -> None:
    """Fail with what the gateway says."""
    gateway.body = {"name": "probe"}
    run("card", "x")
    gateway.status, gateway.body = 404, {"error": {"message": "there is no agent x"}}
    result: Any = run("card", "x")
    assert isinstance(result.exception, HeadraceError)
    assert str(result.exception).startswith("there is no agent x")
