"""Tests of the tools of a bridge, whose answers are those of a real MCP server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client

from tests.unit.doors.mcp.bench import Json, McpBench
from tests.unit.protocols.summit.queries.stage import failure, manifest, result
from tests.unit.protocols.summit.routes.summit_bench import MANIFESTS, summit_bench

AGENT = "docs"
PICTURE: Json = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
READ: Json = {
    "content": [PICTURE, {"type": "text", "text": "a.txt"}],
    "structuredContent": {"size": 2, "owner": None},
    "isError": False,
}
FAILED: Json = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
OUTPUTS: Json = {
    "read": READ,
    "odd": {"content": "no list"},
    "none": {"content": [], "isError": False},
}


def answer(call: Json) -> list[Json]:
    """Answer as a bridge does: with what its server has said."""
    run = call["params"]["runId"]
    tool = call["params"].get("toolCall", {}).get("name", "read")
    if tool == "fail":
        data = {"reason": "mcp_tool_error", "mcp": FAILED}
        failed = failure(run, agent=AGENT)
        return [{**failed, "error": {"code": 1, "message": "no such file", "data": data}}]
    return [result(run, OUTPUTS[tool], agent=AGENT)]


def make_manifest() -> Json:
    names = ["fail", "none", "odd", "read"]
    anything = {"type": "object"}
    made = manifest(
        AGENT,
        interface={"inputSchema": anything, "outputSchema": anything},
        tools=[{"name": name, "description": name, "arguments": anything} for name in names],
    )
    hints = {"readOnlyHint": True, "idempotentHint": "yes", "title": "Read a file"}
    tools = {"read": {"annotations": hints}, "fail": {"annotations": []}}
    made["metadata"]["mcp"] = {"server": {"name": "files", "version": "1"}, "tools": tools}
    return made


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with summit_bench(tmp_path_factory.mktemp("mcp"), summit_wait_s=30) as summit:
        (verdict,) = summit.send_and_await(MANIFESTS, make_manifest())
        assert verdict["verdict"] == "accepted", verdict
        summit.agent(answer)
        yield McpBench(summit, None)


def test_the_hints_of_the_server_are_shown_as_far_as_they_are_some(bench: McpBench) -> None:
    listed: Any = bench.use(lambda client: client.list_tools()).tools
    hints = {
        tool.name: tool.annotations.model_dump(by_alias=True, exclude_none=True) for tool in listed
    }
    assert hints["docs__read"] == {"title": "Read a file", "readOnlyHint": True}
    assert hints["docs__fail"] == hints["run_docs"]
    assert hints["run_docs"]["destructiveHint"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_tool_answers_with_the_result_of_the_server(bench: McpBench, mode: str) -> None:
    response = bench.call("docs__read", mode=mode)
    content = [
        each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in response.content
    ]
    assert content == READ["content"]
    assert (response.structured_content, response.is_error) == (READ["structuredContent"], False)
    assert response.meta["dev.headrace/run"]["status"] == "completed"
    assert response.meta["dev.headrace/agent"]["agentId"] == AGENT


def test_a_result_without_content_is_passed_on_too(bench: McpBench) -> None:
    response = bench.call("docs__none")
    assert (response.content, response.structured_content) == ([], None)


def test_an_output_that_is_no_result_of_mcp_is_structured_content(bench: McpBench) -> None:
    assert bench.call("docs__odd").structured_content == OUTPUTS["odd"]


def test_a_run_of_the_agent_itself_has_its_output(bench: McpBench) -> None:
    assert bench.call("run_docs").structured_content == READ


def test_what_the_server_says_of_a_failure_is_its_content(bench: McpBench) -> None:
    response = bench.call("docs__fail")
    assert response.is_error
    assert [each.text for each in response.content] == ["no such file"]
    body = response.structured_content
    assert (body["rule"], body["status"]) == ("mcp_tool_error", "failed")


def test_a_large_result_is_refused(bench: McpBench, monkeypatch: pytest.MonkeyPatch) -> None:
    large = {"content": [{**PICTURE, "data": "a" * 300_000}], "isError": False}
    monkeypatch.setitem(OUTPUTS, "read", large)
    assert bench.call("docs__read").structured_content["rule"] == "result_too_large"


def test_a_run_that_the_door_names_has_the_trace_of_its_call(bench: McpBench) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    meta: Any = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}

    async def work(client: Client) -> Any:
        return await client.call_tool("docs__read", {}, meta=meta)

    run_id = bench.use(work).meta["dev.headrace/run"]["runId"]
    response = bench.call("query", path=f"/v1/summit/runs/{run_id}").structured_content
    assert response["body"]["traceId"] == trace
