"""Tests of the other methods: resources, prompts, completion, versions and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.unit.doors.mcp.bench import ACCEPT, LEGACY, MODERN, URL, Json, McpBench, mcp_bench
from tests.unit.envelopes import IDEA_ID, idea

NODE = f"apc:packet:{IDEA_ID}"
CALL_STATE: Json = {"name": "state", "arguments": {"node": NODE}}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp")) as bench:
        bench.call("send", topic="apc.packets", envelope=idea())
        yield bench


def read(bench: McpBench, uri: str) -> Any:
    result = bench.use(lambda client: client.read_resource(uri))
    (content,) = result.contents
    return result, content


def message(method: str, params: Json | None = None, id: Any = 1) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    whole = {
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": {"_meta": meta, **(params or {})},
    }
    return json.dumps(whole).encode()


def test_what_the_server_says_of_itself(bench: McpBench) -> None:
    async def work(client: Client) -> Any:
        return client.server_info, client.instructions, client.server_capabilities

    for mode in ("auto", "legacy"):
        info, instructions, capabilities = bench.use(work, mode=mode)
        assert info.name == "headrace"
        assert instructions is not None
        assert 200 < len(instructions) <= 1500
        assert capabilities.tools is not None
        assert capabilities.resources is not None
        assert capabilities.prompts is not None
        assert capabilities.prompts.list_changed is False
        assert capabilities.tools.list_changed is (mode == "auto")
        assert capabilities.completions is not None
        assert capabilities.logging is None


def test_lists_may_be_kept_for_a_minute(bench: McpBench) -> None:
    async def work(client: Client) -> Any:
        return [
            await client.list_tools(),
            await client.list_resources(),
            await client.list_resource_templates(),
            await client.list_prompts(),
        ]

    tools, listed, templates, prompts = bench.use(work)
    assert {(each.ttl_ms, each.cache_scope) for each in (tools, listed, templates, prompts)} == {
        (60_000, "private")
    }
    assert {each.name for each in listed.resources} == {"topics", "rules", "openapi"}
    assert len(templates.resource_templates) == 5
    assert {each.name for each in prompts.prompts} == {"explain_refusal", "trace_story"}


@pytest.mark.parametrize("name", ["topics", "rules", "openapi"])
def test_listed_resources_are_read(bench: McpBench, name: str) -> None:
    _, content = read(bench, f"headrace://{name}")
    assert json.loads(content.text)


def test_a_node_and_a_record_are_read(bench: McpBench) -> None:
    result, content = read(bench, f"headrace://node/{quote(NODE, safe='')}")
    thing = json.loads(content.text)
    assert (thing["node"], result.ttl_ms) == (NODE, 0)
    place = thing["steps"][0]["cause"]
    result, content = read(bench, f"headrace://record/{place}")
    record = json.loads(content.text)
    assert (record["position"], record["value"]["packet_id"]) == (place, IDEA_ID)
    assert result.ttl_ms == 86_400_000
    result, content = read(
        bench, f"headrace://node/{quote(NODE, safe='')}?as_of={quote(place, safe='')}"
    )
    assert (json.loads(content.text)["node"], result.ttl_ms) == (NODE, 86_400_000)
    _, content = read(bench, f"headrace://lineage/{quote(NODE, safe='')}?direction=both&depth=1")
    assert len(json.loads(content.text)["nodes"]) > 1


def test_a_rule_is_read_as_markdown(bench: McpBench) -> None:
    _, content = read(bench, "headrace://rule/token_missing")
    assert content.mime_type == "text/markdown"
    assert content.text.startswith("# `token_missing`")


@pytest.mark.parametrize(
    ("uri", "rule"),
    [
        ("headrace://nothing", "resource_unknown"),
        ("https://example.com/", "resource_unknown"),
        ("headrace://rule/none_such", "resource_unknown"),
        ("headrace://node/apc%3Apacket%3Anone", "node_unknown"),
        ("headrace://record/apc.packets/0/99", "position_unknown"),
        ("headrace://record/rtes.raw/0/0", "topic_internal"),
    ],
)
def test_resources_that_are_not_there(bench: McpBench, uri: str, rule: str) -> None:
    with pytest.raises(MCPError) as caught:
        read(bench, uri)
    assert (caught.value.code, caught.value.data["rule"]) == (-32602, rule)
    assert caught.value.data["uri"] == uri


def test_prompts_embed_what_the_log_says(bench: McpBench) -> None:
    _, content = read(bench, f"headrace://node/{quote(NODE, safe='')}")
    place = json.loads(content.text)["steps"][0]["cause"]

    async def work(client: Client) -> Any:
        return await client.get_prompt("explain_refusal", {"position": place})

    text, record, rule = (each.content for each in bench.use(work).messages)
    assert place in text.text
    assert json.loads(record.resource.text)["verdict"] == "accepted"
    assert rule.resource.uri == "headrace://rule/accepted"


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("none", {}, "prompt_unknown"),
        ("explain_refusal", {}, "arguments_invalid"),
        ("explain_refusal", {"position": "x"}, "position_unknown"),
    ],
)
def test_prompts_that_are_refused(
    bench: McpBench, name: str, arguments: dict[str, str], rule: str
) -> None:
    with pytest.raises(MCPError) as caught:
        bench.use(lambda client: client.get_prompt(name, arguments))
    assert (caught.value.code, caught.value.data["rule"]) == (-32602, rule)


@pytest.mark.parametrize(
    ("argument", "typed", "value"),
    [
        ("topic", "apc.", "apc.packets"),
        ("rule", "token_", "token_missing"),
        ("direction", "", "both"),
        ("node", "apc:p", "apc:packet:"),
        ("node", NODE[:-4], NODE),
    ],
)
def test_arguments_are_completed(bench: McpBench, argument: str, typed: str, value: str) -> None:
    reference = ResourceTemplateReference(type="ref/resource", uri="headrace://node/{node}{?as_of}")

    async def work(client: Client) -> Any:
        return await client.complete(reference, {"name": argument, "value": typed})

    assert value in bench.use(work).completion.values


def test_a_prompt_has_nothing_to_complete_a_position_with(bench: McpBench) -> None:
    reference = PromptReference(type="ref/prompt", name="explain_refusal")

    async def work(client: Client) -> Any:
        return await client.complete(reference, {"name": "position", "value": "a"})

    assert bench.use(work).completion.values == []


@pytest.mark.parametrize("method", ["resources/subscribe", "logging/setLevel", "nothing/at-all"])
def test_other_methods_are_not_found(bench: McpBench, method: str) -> None:
    response = bench.post(message(method), mcp_protocol_version=MODERN, mcp_method=method)
    assert (response.status_code, response.json()["error"]["code"]) == (404, -32601)


def test_a_cursor_that_no_list_gave(bench: McpBench) -> None:
    response = bench.post(
        message("tools/list", {"cursor": "x"}), mcp_protocol_version=MODERN, mcp_method="tools/list"
    )
    assert response.json()["error"]["data"]["rule"] == "list_cursor"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_only_post_is_served(bench: McpBench, method: str) -> None:
    response = bench.bench.ask(method, "/mcp")
    assert response.status_code == 405
    assert "POST" in response.headers["allow"]


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", {}, 400, -32700),
        (b"[]", {}, 400, -32600),
        (message("tools/list"), {"mcp_method": "tools/call"}, 400, -32020),
        (
            message("tools/list").replace(MODERN.encode(), b"1999-01-01"),
            {"mcp_protocol_version": "1999-01-01"},
            400,
            -32022,
        ),
        (message("tools/list"), {"content_type": "text/plain"}, 400, None),
        (message("tools/list"), {"accept": "text/html"}, 406, None),
    ],
)
def test_messages_that_are_refused(
    bench: McpBench, content: bytes, headers: dict[str, str], status: int, code: int | None
) -> None:
    common = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}
    response = bench.post(content, **{**common, **headers})
    assert response.status_code == status, response.text
    assert code is None or response.json()["error"]["code"] == code


def test_headers_that_are_missing_or_repeated_are_refused(bench: McpBench) -> None:
    once = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "state"}
    content = message("tools/call", CALL_STATE)

    async def work(http: httpx2.AsyncClient) -> list[tuple[int, int]]:
        answers = []
        types = [("content-type", "application/json"), ("accept", ACCEPT)]
        for name, value in once.items():
            missing = [each for each in once.items() if each[0] != name]
            repeated = [*once.items(), (name, value)]
            is_version = name == "mcp-protocol-version"  # without it a request is an older one
            for headers in (repeated,) if is_version else (repeated, missing):
                answer = await http.post(URL, content=content, headers=[*types, *headers])
                answers.append((answer.status_code, answer.json()["error"]["code"]))
        return answers

    assert bench.serve(work) == [(400, -32020)] * 5


def test_blanks_around_a_header_are_no_part_of_it(bench: McpBench) -> None:
    names = {
        "mcp_protocol_version": f" {MODERN} ",
        "mcp_method": "tools/call ",
        "mcp_name": " state",
    }
    response = bench.post(message("tools/call", CALL_STATE), **names)
    assert response.status_code == 200, response.text
    assert response.json()["result"]["structuredContent"]["node"] == NODE


def test_nulls_survive_and_old_clients_get_no_result_type(bench: McpBench) -> None:
    new = bench.call("state", node=NODE)
    old = bench.call("state", mode="legacy", node=NODE)
    assert new.structured_content == old.structured_content
    assert new.structured_content["as_of"] is None
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL_STATE})
    response = bench.post(body.encode(), mcp_protocol_version=LEGACY)
    (line,) = (each for each in response.text.splitlines() if each.startswith("data: {"))
    assert "resultType" not in json.loads(line.removeprefix("data: "))["result"]


def test_requests_are_counted_by_method_and_outcome(bench: McpBench) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("state", {"node": NODE})
        await client.call_tool("state", {"node": "apc:packet:none"})
        with pytest.raises(MCPError):
            await client.session.call_tool("none", {})

    bench.use(work)
    counted = bench.metrics
    for outcome in ("ok", "refused", "error"):
        line = f'headrace_mcp_requests_total{{method="tools/call",outcome="{outcome}"}} 1.0'
        assert line in counted


def test_a_large_message_is_refused(bench: McpBench) -> None:
    bound = bench.bench.settings.gateway_max_body_bytes
    response = bench.post(b"1", mcp_protocol_version=MODERN, content_length=str(bound + 1))
    assert response.status_code == 413


HALF = "\ud800"


@pytest.mark.parametrize(
    ("method", "name", "params"),
    [
        ("tools/call", "state", {"arguments": {"node": f"apc:packet:{HALF}"}}),
        ("tools/call", "state", {"arguments": {"node": NODE, "as_of": HALF}}),
        ("tools/call", "query", {"arguments": {"path": f"/v1/search?q={HALF}"}}),
        ("tools/call", "explain", {"arguments": {"position": f"{HALF}/0/0"}}),
        (
            "completion/complete",
            "",
            {
                "ref": {"type": "ref/prompt", "name": "x"},
                "argument": {"name": "node", "value": f"apc:packet:ab{HALF}"},
            },
        ),
    ],
)
def test_half_of_a_surrogate_pair_is_refused(
    bench: McpBench, method: str, name: str, params: Json
) -> None:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    named = {"name": name, **params} if name else params
    if name:
        headers["mcp-name"] = name
    error = bench.post(message(method, named), **headers).json()["error"]
    assert (error["code"], error["data"]["rule"]) == (-32602, "json_invalid")
