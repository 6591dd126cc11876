"""`POST /mcp` in scenarios: the official client over their lines, and lines that say it all."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from streams.doors.mcp.playing import REFUSED_METHODS, serve
from streams.doors.mcp.tools import TOOLS
from streams.play.scenario import Scenario, open_scenario, play
from streams.settings import Settings
from tests.unit.doors.mcp.bench import LEGACY, MODERN, URL
from tests.unit.envelopes import IDEA_ID, ack, idea
from tests.unit.protocols.sap.queries.stage import result, task
from tests.unit.protocols.summit.queries.stage import AGENT, manifest

Json = dict[str, Any]
SETTINGS = replace(Settings(), partitions=1)
TASKS = "io.modelcontextprotocol/tasks"
HEADERS = ("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name")


@pytest.fixture
def scenario() -> Iterator[Scenario]:
    with open_scenario(SETTINGS, servers=(serve,)) as scenario:
        yield scenario


class LineTransport(httpx2.AsyncBaseTransport):
    """Carries out each POST of a client as a line of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return httpx2.Response(405)
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        body = json.loads(await request.aread())
        line = json.dumps({"query": "POST /mcp", "headers": headers, "body": body})
        answer = (await asyncio.to_thread(self._scenario.line, 1, line))[0]
        if answer["body"] is None:
            return httpx2.Response(answer["status"])
        return httpx2.Response(answer["status"], json=answer["body"])


def message(method: str, *extensions: str, **params: Any) -> str:
    """Return the line that sends a message at the newest version."""
    capabilities: Json = {"extensions": {name: {} for name in extensions}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}
    return json.dumps({"query": "POST /mcp", "body": body})


def tool(name: str, /, *extensions: str, **arguments: Any) -> str:
    return message("tools/call", *extensions, name=name, arguments=arguments)


def run(*lines: str) -> list[Json]:
    """Return the answers to the messages among the lines."""
    outputs = play(lines, SETTINGS, servers=(serve,))
    return [each["body"] for each in outputs if each.get("query") == "POST /mcp"]


@pytest.mark.parametrize(("mode", "version"), [("auto", MODERN), ("legacy", LEGACY)])
def test_the_official_client_works_over_a_scenario(
    scenario: Scenario, mode: str, version: str
) -> None:
    async def work() -> None:
        http = httpx2.AsyncClient(transport=LineTransport(scenario))
        async with http, Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            assert client.protocol_version == version
            listed = await client.list_tools()
            assert [each.name for each in listed.tools] == [each.name for each in TOOLS]
            sent: Any = await client.call_tool(
                "send", {"topic": "apc.packets", "envelope": idea(), "wait": "outcome"}
            )
            assert sent.structured_content["verdict"] == "accepted"
            assert sent.structured_content["fact"]["position"].startswith("apc.events/")
            state: Any = await client.call_tool("state", {"node": f"apc:packet:{IDEA_ID}"})
            assert state.structured_content["state"]["state"] == "ROUTED"
            refused: Any = await client.call_tool(
                "send", {"topic": "apc.packets", "envelope": ack(idea(8), 9)}
            )
            assert (refused.is_error, refused.structured_content["verdict"]) == (True, "rejected")
            explained: Any = await client.call_tool(
                "explain", {"position": refused.structured_content["position"]}
            )
            assert explained.structured_content["rule"] == refused.structured_content["rule"]

    asyncio.run(work())


def test_what_waits_ends_with_what_is_there() -> None:
    packet = {"topic": "apc.packets", "envelope": idea()}
    polled = tool("events", name="verdict", wait_s=60)
    sent = tool("send", topic="sap.tasks", envelope=task(1), wait="outcome", wait_s=60)
    begun, pending, _, seen = run(polled, sent, tool("send", **packet), polled)
    assert begun["result"]["structuredContent"]["events"] == []
    content = pending["result"]["structuredContent"]
    assert (content["verdict"], content["ended"], content["outcome"]) == ("accepted", False, None)
    assert seen["result"]["isError"] is False


def test_a_task_is_asked_by_its_handle() -> None:
    sent = tool("send", TASKS, topic="sap.tasks", envelope=task(1), wait="outcome")
    (created,) = run(sent)
    assert created["result"]["resultType"] == "task"
    ask = message("tasks/get", TASKS, taskId=created["result"]["taskId"])
    ended = json.dumps({"topic": "sap.results", "value": result(task(1))})
    _, working, completed = run(sent, ask, ended, ask)
    assert working["result"]["status"] == "working"
    assert completed["result"]["status"] == "completed"
    assert completed["result"]["result"]["structuredContent"]["outcome"]["status"] == "SUCCEEDED"


def test_a_run_has_the_id_of_its_line_and_each_run_of_the_lines_is_the_same() -> None:
    registered = json.dumps({"topic": "summit.manifests", "value": manifest()})
    lines = (registered, tool(f"run_{AGENT}", text="to be"))
    (pending,) = run(*lines)
    body = pending["result"]["structuredContent"]
    made = uuid.uuid5(uuid.NAMESPACE_URL, "headrace:mcp:2")
    assert (body["rule"], body["runId"]) == ("run.pending", f"mcp-{made}")
    first, second = (list(play(lines, SETTINGS, servers=(serve,))) for _ in range(2))
    assert first == second


def test_a_message_needs_no_headers_and_no_version() -> None:
    params = {"name": "state", "arguments": {"node": f"apc:packet:{IDEA_ID}"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent = json.dumps({"topic": "apc.packets", "value": idea()})
    (answer,) = run(sent, json.dumps({"query": "POST /mcp", "body": body}))
    assert answer["result"]["structuredContent"]["state"]["state"] == "ROUTED"


@pytest.mark.parametrize("method", REFUSED_METHODS)
def test_what_goes_on_after_its_answer_is_refused(method: str) -> None:
    (answer,) = run(message(method))
    assert (answer["id"], answer["error"]["code"]) == (7, -32601)
    assert answer["error"]["data"]["rule"] == "scenario_method"


@pytest.mark.parametrize("body", [[], "text", None, {"jsonrpc": "2.0"}])
def test_what_is_no_message_is_refused(body: Any) -> None:
    line = json.dumps({"query": "POST /mcp", "body": body})
    (output,) = play([line], SETTINGS, servers=(serve,))
    assert output["status"] == 400
    assert output["body"]["error"]["code"] < 0


def test_other_paths_and_methods_are_those_of_the_routes() -> None:
    outputs = play(
        [json.dumps({"query": query}) for query in ("GET /mcp", "POST /mcp/x")],
        SETTINGS,
        servers=(serve,),
    )
    assert [output["status"] for output in outputs] == [404, 404]
