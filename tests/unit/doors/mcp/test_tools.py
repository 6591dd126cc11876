"""Tests of the tools, called by the official client over a gateway in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.client import Client

from streams.doors.mcp import schemas as s
from streams.doors.mcp.tools import BY_NAME, TOOLS
from streams.engine.log import Pace
from streams.gateway.broker import BrokerWatch
from tests.unit.doors.mcp.bench import LEGACY, MODERN, Json, McpBench, mcp_bench
from tests.unit.envelopes import IDEA_ID, ack, idea, packet_id

NODE = f"apc:packet:{IDEA_ID}"
QUERY = BY_NAME["query"].returns


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp")) as bench:
        yield bench


@pytest.fixture(scope="module")
def sent(bench: McpBench) -> Json:
    """Return the answer to the first envelope, which is accepted."""
    return answer(bench.call("send", topic="apc.packets", envelope=idea()), "send")


def answer(result: Any, tool: str) -> Json:
    """Return the structured content of a success, which keeps the tool's output schema."""
    assert not result.is_error, result.content
    content: Json = result.structured_content
    jsonschema.validate(content, BY_NAME[tool].returns)
    assert json.loads(result.content[0].text) == content
    return content


def refusal(result: Any) -> Json:
    """Return the structured content of a refusal, which some clients check by the schema too."""
    assert result.is_error, result.structured_content
    content: Json = result.structured_content
    assert any(_fits(content, schema) for schema in (s.REFUSAL, s.SENT, QUERY))
    return content


def _fits(content: Json, schema: Json) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(content)


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_every_version_lists_the_tools(bench: McpBench, mode: str) -> None:
    async def work(client: Client) -> Any:
        return client.protocol_version, await client.list_tools()

    protocol, listed = bench.use(work, mode=mode)
    assert protocol == (LEGACY if mode == "legacy" else MODERN)
    assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
    for tool in listed.tools:
        assert tool.title
        assert tool.description
        assert tool.output_schema
        assert tool.annotations
        assert tool.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_an_accepted_envelope_has_its_fact_and_its_state(sent: Json) -> None:
    assert (sent["verdict"], sent["node"]) == ("accepted", NODE)
    assert (sent["rule"], sent["errors"]) == ("accepted", [])
    assert sent["position"].startswith("apc.packets/")
    assert sent["fact"]["position"].startswith("apc.events/")
    assert (sent["state"], sent["ended"]) == ("ROUTED", False)


@pytest.mark.parametrize("mode", [MODERN, "legacy"])
def test_the_same_envelope_again_is_a_duplicate(bench: McpBench, sent: Json, mode: str) -> None:
    again = answer(bench.call("send", mode=mode, topic="apc.packets", envelope=idea()), "send")
    assert (again["verdict"], again["node"]) == ("duplicate", NODE)


def test_a_refused_envelope_is_an_error_with_its_rule(bench: McpBench, sent: Json) -> None:
    unknown = idea(8)  # which nobody has sent
    result = bench.call("send", topic="apc.packets", envelope=ack(unknown, 9))
    body = refusal(result)
    assert (body["verdict"], body["fault"]) == ("rejected", "sender"), body
    assert body["rule"]
    assert body["rule_meaning"]
    assert body["detail"]
    assert result.meta["dev.headrace/position"] == body["position"]
    assert result.meta["dev.headrace/fact"] == body["fact"]["position"]
    explained = answer(bench.call("explain", position=body["position"]), "explain")
    assert (explained["rule"], explained["verdict"]) == (body["rule"], "rejected")


def test_an_envelope_of_another_shape_is_not_produced(bench: McpBench) -> None:
    body = refusal(bench.call("send", topic="apc.packets", envelope={"phase": "IDEATION"}))
    assert body["status"] == 422
    assert body["errors"][0]["rule"] == body["rule"]
    assert "position" not in body


def test_a_verdict_that_the_view_has_just_read_opens_no_reader(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, paces = bench.bench.bench.log, list[Pace]()
    open_reader = log.reader

    def counted(positions: Any, pace: Pace = Pace.END) -> Any:
        paces.append(pace)
        return open_reader(positions, pace)

    monkeypatch.setattr(log, "reader", counted)
    body = answer(bench.call("send", topic="apc.packets", envelope=idea(20)), "send")
    assert body["fact"]["value"]["packet_id"] == packet_id(20)
    assert Pace.FEW not in paces
    monkeypatch.setattr(bench.bench.view, "recent_fact", lambda position: None)
    again = answer(bench.call("send", topic="apc.packets", envelope=idea(20)), "send")
    assert (again["verdict"], again["fact"]["value"]["verdict"]) == ("duplicate", "duplicate")
    assert Pace.FEW in paces


def test_none_waits_for_nothing(bench: McpBench) -> None:
    result = bench.call("send", topic="apc.packets", envelope=idea(), wait="none")
    body = answer(result, "send")
    assert (body["verdict"], body["fact"]) == (None, None)


def test_a_verdict_is_explained_by_command_by_fact_and_by_node(bench: McpBench, sent: Json) -> None:
    by_command = answer(bench.call("explain", position=sent["position"]), "explain")
    assert by_command["verdict"] == "accepted"
    assert by_command["command"]["position"] == sent["position"]
    assert by_command["facts"][0]["position"] == sent["fact"]["position"]
    assert by_command["rederived"]["outcome"] == "holds"
    by_fact = answer(bench.call("explain", position=sent["fact"]["position"]), "explain")
    assert by_fact == by_command
    by_node = answer(bench.call("explain", node=NODE), "explain")
    assert by_node["node"] == NODE


def test_a_thing_stands_as_the_route_says(bench: McpBench, sent: Json) -> None:
    body = answer(bench.call("state", node=NODE), "state")
    route = bench.bench.get(f"/v1/things/{NODE.replace(':', '%3A')}")
    assert body == {"node": NODE, "as_of": None, "state": route}
    past = answer(bench.call("state", node=NODE, as_of=sent["fact"]["position"]), "state")
    assert past["state"]["state"] == "ROUTED"


def test_what_came_of_a_thing(bench: McpBench, sent: Json) -> None:
    body = answer(bench.call("lineage", node=NODE, depth=2), "lineage")
    assert NODE in {each["node"] for each in body["nodes"]}
    answer(bench.call("send", topic="apc.packets", envelope=idea(21)), "send")
    (shared,) = {each["node"] for each in body["nodes"]} - {NODE}
    first = answer(bench.call("lineage", node=shared, limit=1), "lineage")
    second = answer(bench.call("lineage", node=shared, limit=1, cursor=first["next"]), "lineage")
    assert first["nodes"] != second["nodes"]


def test_any_route_is_asked(bench: McpBench, sent: Json) -> None:
    listed = answer(bench.call("query", path="/v1/verdicts?limit=1"), "query")
    assert (listed["status"], set(listed["body"])) == (200, {"items", "next"})
    after = answer(bench.call("query", path=f"/v1/things/{NODE}", after=sent["position"]), "query")
    assert after["body"]["node"] == NODE


@pytest.mark.parametrize("path", ["/v1/rtes/stream", "/healthz", "/v1/nothing", "https://x/v1/"])
def test_other_paths_are_refused(bench: McpBench, path: str) -> None:
    assert refusal(bench.call("query", path=path))["rule"] == "path_unknown"


def test_a_refused_query_is_an_error_with_its_body(bench: McpBench) -> None:
    body = refusal(bench.call("query", path="/v1/verdicts?limit=x"))
    assert (body["status"], body["body"]["rule"]) == (422, "query_value")


def test_a_record_is_proven(bench: McpBench, sent: Json) -> None:
    body = answer(bench.call("receipt", position=sent["position"]), "receipt")
    assert body["verdict"]["position"] == sent["fact"]["position"]
    assert len(body["value_sha256"]) == len(body["verdict"]["value_sha256"]) == 64
    assert (body["rederived"]["outcome"], body["sealed"]) == ("holds", None)


@pytest.mark.parametrize(
    ("position", "rule"),
    [
        ("apc.packets/0/99", "position_unknown"),
        ("nonsense", "position_unknown"),
        ("rtes.raw/0/0", "topic_internal"),
    ],
)
def test_positions_without_a_record(bench: McpBench, position: str, rule: str) -> None:
    assert refusal(bench.call("receipt", position=position))["rule"] == rule


def test_an_envelope_is_validated(bench: McpBench) -> None:
    assert answer(bench.call("validate", kind="apc.packet", envelope=idea()), "validate") == {
        "valid": True,
        "errors": [],
    }
    body = answer(bench.call("validate", kind="apc.packet", envelope={}), "validate")
    assert not body["valid"]
    assert set(body["errors"][0]) == {"rule", "path", "message"}


@pytest.mark.parametrize(
    ("tool", "has_node"), [("send", True), ("explain", True), ("receipt", False)]
)
def test_an_answer_links_to_the_thing_and_to_the_fact(
    bench: McpBench, sent: Json, tool: str, has_node: bool
) -> None:
    arguments = {"position": sent["position"]}
    if tool == "send":
        arguments = {"topic": "apc.packets", "envelope": idea()}
    result = bench.call(tool, **arguments)
    links = [each.uri for each in result.content[1:]]
    node, fact = "headrace://node/" + NODE.replace(":", "%3A"), links[-1]
    assert links[:-1] == [node] * has_node
    read: Any = bench.use(lambda client: client.read_resource(fact)).contents
    verdict = json.loads(read[0].text)
    assert fact == f"headrace://record/{verdict['position']}"
    assert verdict["value"]["packet_id"] == IDEA_ID


def test_a_scenario_is_played(bench: McpBench) -> None:
    lines = [
        {"topic": "apc.packets", "value": idea()},
        json.dumps({"query": f"GET /v1/things/{NODE}"}),
    ]
    body = answer(bench.call("simulate", lines=lines), "simulate")
    assert body["lines"][0]["topic"] == "apc.events"
    assert body["lines"][-1]["body"]["node"] == NODE


@pytest.mark.parametrize(
    ("arguments", "rule", "path"),
    [
        ({"lines": ["{"]}, "simulation_failed", "/lines"),
        ({"lines": []}, "arguments_invalid", "/lines"),
        ({"lines": ["{}"], "settings": {"TOKENS": "x"}}, "setting_refused", "/settings/TOKENS"),
        ({"lines": ["{}"], "settings": {"BOOTSTRAP": "x"}}, "setting_refused", None),
        ({"lines": ["{}"], "settings": {"NONE_SUCH": "x"}}, "setting_refused", None),
    ],
)
def test_a_scenario_that_is_refused(
    bench: McpBench, arguments: Json, rule: str, path: str | None
) -> None:
    body = refusal(bench.call("simulate", **arguments))
    assert body["rule"] == rule, body
    assert path is None or body["path"] == path


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("state", {}, ""),
        ("state", {"node": 1}, "/node"),
        ("state", {"node": NODE, "other": 1}, ""),
        ("send", {"topic": "apc.events", "envelope": {}}, "/topic"),
        ("explain", {}, None),
        ("explain", {"position": "a/0/0", "node": NODE}, None),
        ("validate", {"kind": "none", "envelope": {}}, "/kind"),
    ],
)
def test_arguments_that_break_the_schema(
    bench: McpBench, tool: str, arguments: Json, path: str | None
) -> None:
    body = refusal(bench.call(tool, **arguments))
    assert (body["rule"], body["path"]) == ("arguments_invalid", path)


def test_a_node_that_nothing_is_known_of(bench: McpBench) -> None:
    body = refusal(bench.call("state", node="apc:packet:none"))
    assert (body["status"], body["rule"]) == (404, "node_unknown")


def test_without_kafka_nothing_is_sent_and_things_stand_as_they_are_known(
    bench: McpBench, sent: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BrokerWatch, "reason", "Kafka is away")
    body = refusal(bench.call("send", topic="apc.packets", envelope=idea(30)))
    assert (body["status"], body["rule"]) == (503, "service_unavailable")
    assert "same id" in body["detail"]
    assert answer(bench.call("state", node=NODE), "state")["node"] == NODE


@pytest.mark.parametrize("tool", ["state", "explain"])
@pytest.mark.parametrize("node", ["apc:nothing:x", "x", "apc:packet"])
def test_a_node_of_no_kind(bench: McpBench, tool: str, node: str) -> None:
    body = refusal(bench.call(tool, node=node))
    assert body["rule"] == ("node_unknown" if node == "apc:packet" else "node_kind")


def test_a_large_answer_is_refused(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, mcp_max_result_bytes=4096) as small:
        body = refusal(small.call("query", path="/v1/machines"))
    assert body["rule"] == "result_too_large"
    assert "limit" in body["detail"]


@pytest.mark.parametrize(("lag", "behind_ms"), [(1001, 0), (3, 1001)])
def test_an_answer_of_a_view_that_is_behind_says_how_far(
    bench: McpBench, sent: Json, monkeypatch: pytest.MonkeyPatch, lag: int, behind_ms: int
) -> None:
    status = bench.bench.view.status()._replace(lag=lag, behind_ms=behind_ms)
    monkeypatch.setattr(bench.bench.view, "status", lambda: status)
    expected = {"dev.headrace/lag": lag, "dev.headrace/lag-ms": behind_ms}
    for result in (bench.call("state", node=NODE), bench.call("state", node="apc:packet:none")):
        assert {name: result.meta[name] for name in expected} == expected
    for more in ({"after": sent["position"]}, {"as_of": sent["fact"]["position"]}):
        assert not expected.keys() & (bench.call("state", node=NODE, **more).meta or {}).keys()
    simulated = bench.call("validate", kind="apc.packet", envelope=idea())
    assert not expected.keys() & (simulated.meta or {}).keys()


def test_an_answer_of_a_view_that_is_a_little_behind_says_nothing(
    bench: McpBench, sent: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = bench.bench.view.status()._replace(lag=1000, behind_ms=1000)
    monkeypatch.setattr(bench.bench.view, "status", lambda: status)
    meta = bench.call("state", node=NODE).meta or {}
    assert not [name for name in meta if "lag" in name]
