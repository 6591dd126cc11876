"""Tests of the tools of Summit agents as tools of MCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from streams.api.agent_tools import AgentTool
from streams.doors.mcp.agents import ANNOTATIONS, OFFERED, OfferedTool, name_of, page_of
from streams.doors.mcp.schemas import REFUSAL, or_refusal
from streams.doors.mcp.server import describe_offered
from streams.doors.mcp.tools import TOOLS
from tests.unit.doors.mcp.bench import Json, McpBench
from tests.unit.doors.mcp.gated import answer_and_judge, answer_only, gated_bench
from tests.unit.protocols.summit.queries.stage import AGENT, failure, manifest, words
from tests.unit.protocols.summit.routes.summit_bench import MANIFESTS, SummitBench, summit_bench

RUN, TOOL = f"run_{AGENT}", f"{AGENT}__slugify"
TEXT: Json = {"text": "to be or not to be", "top": 1}


@pytest.fixture(scope="module")
def summit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SummitBench]:
    with summit_bench(tmp_path_factory.mktemp("mcp"), summit_wait_s=30) as bench:
        made = manifest(tools=[{**TITLE, "name": "slugify"}])
        (verdict,) = bench.send_and_await(MANIFESTS, made)
        assert verdict["verdict"] == "accepted", verdict
        yield bench


TITLE: Json = {
    "description": "Hyphenated lower-case form of a title.",
    "arguments": {"type": "object", "properties": {"title": {"type": "string"}}},
}


@pytest.fixture
def bench(summit: SummitBench) -> McpBench:
    summit.agent(words)
    return McpBench(summit, None)


def call(bench: McpBench, tool: str, arguments: Json, **meta: Any) -> Any:
    named: Any = {f"dev.headrace/{name.replace('_', '-')}": value for name, value in meta.items()}
    return bench.use(lambda client: client.call_tool(tool, arguments, meta=named or None))


def test_each_agent_and_each_of_its_tools_is_listed(bench: McpBench) -> None:
    listed: Any = bench.use(lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == [*(tool.name for tool in TOOLS), RUN, TOOL]
    run, tool = listed[-2:]
    assert run.output_schema is not None
    assert run.input_schema["required"] == ["text"]
    assert tool.output_schema is None
    assert run.annotations.model_dump(by_alias=True, exclude_none=True) == ANNOTATIONS
    agent = run.meta["dev.headrace/agent"]
    assert (agent["agentId"], agent["tool"]) == (AGENT, None)
    assert tool.meta["dev.headrace/agent"]["tool"] == "slugify"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_is_called(bench: McpBench, mode: str) -> None:
    result = bench.call(RUN, mode=mode, **TEXT)
    assert not result.is_error, result.content
    assert result.structured_content == {"words": 6, "top": ["be"]}
    run = result.meta["dev.headrace/run"]
    assert run["status"] == "completed"
    assert run["runId"].startswith("mcp-")
    state = bench.call("state", node=f"summit:run:{run['runId']}")
    assert state.structured_content["state"]["state"] == "completed"


def test_a_tool_of_an_agent_is_called(bench: McpBench) -> None:
    result = call(bench, TOOL, {"title": "To Be"}, run_id="t-1")
    assert result.structured_content == {"value": "to-be"}
    run = result.meta["dev.headrace/run"]
    assert (run["runId"], run["status"]) == ("t-1", "completed")
    assert run.keys() >= {"metrics", "provenance", "evidence"}
    assert run["evidence"]["callPosition"] == result.meta["dev.headrace/position"]
    again = call(bench, TOOL, {"title": "To Be"}, run_id="t-1")
    assert again.structured_content == {"value": "to-be"}


def test_inputs_that_break_the_schema_are_rejected(bench: McpBench) -> None:
    result = call(bench, RUN, {"texts": 1})
    assert result.is_error
    body = result.structured_content
    assert body["rule"] == "inputs.schema", body
    assert {error["path"] for error in body["errors"]} == {
        "/params/inputs/text",
        "/params/inputs/texts",
    }
    assert body["runId"].startswith("mcp-")


def test_a_failed_run_is_an_error(summit: SummitBench, bench: McpBench) -> None:
    summit.agent(lambda made: [failure(made["params"]["runId"])])
    result = call(bench, RUN, TEXT)
    assert result.is_error
    body = result.structured_content
    assert (body["status"], body["detail"]) == ("failed", body["error"]["message"])


def test_a_run_that_does_not_end_in_time_is_asked_for_again(
    summit: SummitBench, bench: McpBench
) -> None:
    summit.agent(lambda made: [])
    result = call(bench, RUN, TEXT, run_id="slow-1", wait_s=0.2)
    body = result.structured_content
    assert (result.is_error, body["rule"], body["runId"]) == (True, "run.pending", "slow-1")


def test_a_gate_holds_the_answer_until_the_critic_has_judged(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with gated_bench(tmp_path_factory.mktemp("mcp"), summit_wait_s=30) as gated:
        door = McpBench(gated, None)
        gated.agent(answer_only)
        waiting = call(door, RUN, TEXT, run_id="r-1", wait_s=0.5)
        assert waiting.structured_content["rule"] == "run.pending"
        gated.agent(answer_and_judge)
        answer = call(door, RUN, TEXT, run_id="r-2")
        assert answer.structured_content == {"words": 6, "top": ["be"]}
        assert answer.meta["dev.headrace/run"]["verification"]["status"] == "passed"


@pytest.mark.parametrize("meta", [{"run_id": 7}, {"wait_s": "x"}, {"wait_s": True}, {"budget": 1}])
def test_a_wish_of_another_form_is_refused(bench: McpBench, meta: Json) -> None:
    result = call(bench, RUN, TEXT, **meta)
    assert result.structured_content["rule"] == "arguments_invalid"


def test_a_tool_that_nobody_offers(bench: McpBench) -> None:
    async def work(client: Client) -> Any:
        return await client.session.call_tool("run_nobody", {})

    with pytest.raises(MCPError) as caught:
        bench.use(work)
    assert caught.value.data["rule"] == "tool_unknown"


def new_tool(agent_id: str, name: str | None) -> AgentTool:
    return AgentTool(agent_id, "1.0.0", "0" * 64, name, "", {"type": "object"}, None)


def test_an_output_schema_allows_refusals_too() -> None:
    member: Json = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}
    schema = or_refusal({**member, "$defs": {"n": {"type": "integer"}}})
    assert schema == {
        "type": "object",
        "anyOf": [member, REFUSAL],
        "$defs": {"n": {"type": "integer"}},
    }
    assert or_refusal({"type": "object", "properties": {"n": {"$ref": "#"}}}) is None


def test_long_names_end_with_a_hash() -> None:
    assert name_of(new_tool("a" * 60, None)) == "run_" + "a" * 60
    long, other = (name_of(new_tool("a" * 60, tool)) for tool in ("x" * 9, "y" * 9))
    assert len(long) == len(other) == 64
    assert long[:55] == other[:55]
    assert long != other


def test_a_schema_asks_for_no_headers() -> None:
    region: Json = {"enum": ["x-mcp-header"]}
    names = {"x-mcp-header": {"type": "string"}, "region": region}
    schema = {"type": "object", "properties": names}
    asking = {**names, "region": {**region, "x-mcp-header": "Region"}}
    tool = AgentTool("a", "1.0.0", "", "t", "", {**schema, "properties": asking}, None)
    (of,) = OFFERED
    assert describe_offered(OfferedTool("a__t", tool, of)).input_schema == schema


def test_pages_of_tools() -> None:

    offered = [f"t{n}" for n in range(250)]
    begin, following = page_of(offered, None, 100)
    assert (begin, following) == (0, "t99")
    begin, following = page_of(offered, following, 100)
    assert (begin, following) == (100, "t199")
    assert page_of(offered, following, 100) == (200, None)
    with pytest.raises(KeyError):
        page_of(offered, "none", 100)
