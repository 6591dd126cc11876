"""Bridges to MCP servers that others wrote, from npm, on a real Kafka."""

from __future__ import annotations

import shlex
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.asap import McpResourceFetch, make_envelope
from tests.integration.mcp_bridges import CALLER, WAIT_S, BridgeHarness
from tests.integration.system import Live, live
from tests.interop.node_tools import NodeTools
from tests.processes import wait_for

pytestmark = pytest.mark.slow
Json = dict[str, Any]
KINDS: dict[str, tuple[Json, list[str]]] = {
    "echo": ({"message": "hello"}, ["text"]),
    "get-sum": ({"a": 1, "b": 2}, ["text"]),
    "get-tiny-image": ({}, ["text", "image", "text"]),
    "get-resource-links": ({"count": 2}, ["text", "resource_link", "resource_link"]),
    "get-resource-reference": (
        {"resourceType": "Blob", "resourceId": 1},
        ["text", "resource", "text"],
    ),
    "get-structured-content": ({"location": "Chicago"}, ["text"]),
}
"""The kinds of content that tools of the server `everything` answer with, by arguments."""
LONG = "trigger-long-running-operation"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> NodeTools:
    return NodeTools(tmp_path_factory.mktemp("interop"), "mcp_servers")


@pytest.fixture(scope="module")
def bridged_system(
    broker: str, tools: NodeTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    with live(broker, tmp_path_factory.mktemp("system")) as system:
        yield system


def bridge_to(
    system: Live, tools: NodeTools, folder: Path, agent: str, *arguments: str
) -> BridgeHarness:
    node = shutil.which("node")
    program = tools.modules / f"@modelcontextprotocol/server-{agent}/dist/index.js"
    command = shlex.join([str(node), str(program), *arguments])
    return BridgeHarness(system, folder, ("--command", command), agent, f"urn:asap:agent:{agent}")


def run_name() -> str:
    return f"run-{uuid.uuid4().hex[:12]}"


def test_each_kind_of_content_comes_through(
    bridged_system: Live, tools: NodeTools, tmp_path: Path
) -> None:
    """Ask for each kind by a run, for resources by ASAP, and kill the bridge in a long call."""
    bridge = bridge_to(bridged_system, tools, tmp_path, "everything")
    process = bridge.start("--register")
    assert "12 tools, 1 left out" in process.text()
    for tool, (arguments, types) in KINDS.items():
        output = bridge.result(run_name(), tool, arguments)["output"]
        assert [each["type"] for each in output["content"]] == types
        assert ("structuredContent" in output) == (tool == "get-structured-content")
    uri = "demo://resource/dynamic/text/1"
    fetch = McpResourceFetch(resource_uri=uri)
    envelope = make_envelope(fetch, sender=CALLER, recipient=bridge.urn)
    bridge.send_envelopes(envelope)
    (content,) = bridge.answer(envelope.id)["content"]["contents"]
    assert content["uri"] == uri
    assert content["text"].startswith("Resource 1")
    run_id, arguments = run_name(), {"duration": 4, "steps": 4}
    bridge.send_runs((run_id, LONG, arguments))
    wait_for(lambda: bridge.rules(run_id).count("reply.progress") > 1, "it goes on", WAIT_S)
    process.kill()
    bridge.start()
    output = bridge.result(run_id, LONG, arguments)["output"]
    assert output["content"][0]["text"].startswith("Long running operation completed")
    assert bridge.rules(run_id).count("reply.result") == 1
    bridge.verify()


def test_files_are_read_and_a_refusal_of_the_server_fails_the_run(
    bridged_system: Live, tools: NodeTools, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("all of it")
    bridge = bridge_to(bridged_system, tools, tmp_path, "filesystem", str(docs))
    process = bridge.start("--register")
    assert "14 tools, 0 left out" in process.text()
    path = {"path": str(docs / "a.txt")}
    output = bridge.result(run_name(), "read_text_file", path)["output"]
    assert output["content"] == [{"type": "text", "text": "all of it"}]
    error = bridge.result(run_name(), "read_text_file", {"path": "/etc/hostname"})["error"]
    assert (error["code"], error["data"]["reason"]) == (1, "mcp_tool_error")
    assert "outside allowed directories" in error["message"]
    bridge.verify()
