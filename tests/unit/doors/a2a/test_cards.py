"""Agent cards: what manifests say of agents, as A2A has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from a2a.types import a2a_pb2
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict

from streams.access import Role
from streams.doors.a2a.cards import is_exposed
from streams.doors.a2a.mapping import accepted_modes, mapping_of
from streams.settings import Settings
from tests.unit.doors.a2a.bench import EXT, A2aBench, a2a_bench
from tests.unit.protocols.summit.queries.stage import HASHES, manifest

Json = dict[str, Any]
CARD = "/.well-known/agent-card.json"
WORDS = f"/a2a/word-stats{CARD}"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[A2aBench]:
    steered = manifest("steered")
    steered["metadata"] |= {"a2a": {"input": "message", "examples": ["Count this."]}}
    with a2a_bench(tmp_path_factory.mktemp("a2a"), steered) as each:
        yield each


def schema(required: list[str] | None = None, **types: str) -> Json:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": required or []}


def with_schemas(inputs: Json, output: Json, steering: Any = None) -> Json:
    value = manifest(interface={"inputSchema": inputs, "outputSchema": output})
    return value if steering is None else {**value, "metadata": {"a2a": steering}}


def test_card_of_an_agent(bench: A2aBench) -> None:
    """Check that a card has the members that A2A requires, both bindings and the schemas."""
    card = bench.ask("GET", WORDS).json()
    validate_proto_required_fields(ParseDict(card, a2a_pb2.AgentCard()))
    assert (card["name"], card["version"]) == ("word-stats", "1.2.0")
    assert card["supportedInterfaces"] == [
        {
            "url": "http://localhost/a2a/word-stats",
            "protocolBinding": binding,
            "protocolVersion": "1.0",
        }
        for binding in ("JSONRPC", "HTTP+JSON")
    ]
    assert card["skills"][0]["tags"] == ["x-text", "text:count"]
    (extension,) = card["capabilities"]["extensions"]
    assert (extension["uri"], extension["required"]) == (EXT, False)
    assert extension["params"]["manifestHash"] == HASHES["manifestHash"]
    assert "securitySchemes" not in card


def test_manifest_steers_its_card(bench: A2aBench) -> None:
    """Examples and the way of input come from `metadata.a2a`."""
    card = bench.ask("GET", f"/a2a/steered{CARD}").json()
    assert card["skills"][0]["examples"] == ["Count this."]
    assert card["defaultInputModes"] == ["application/json", "text/plain"]


def test_card_has_an_entity_tag(bench: A2aBench) -> None:
    """Check that a client that has the card is told so without a body."""
    first = bench.ask("GET", WORDS)
    again = bench.ask("GET", WORDS, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "max-age=60"
    assert first.headers["vary"] == "Host"


def test_gateway_of_several_agents_has_no_card(bench: A2aBench) -> None:
    """Check that without a root agent the gateway names the list of its agents."""
    response = bench.ask("GET", CARD)
    assert response.status_code == 404
    assert "/v1/a2a/agents" in response.text
    items = bench.ask("GET", "/v1/a2a/agents").json()["items"]
    assert [each["agentId"] for each in items] == ["steered", "word-stats"]
    assert items[1]["card"] == f"http://localhost{WORDS}"


def test_list_of_agents_is_paged(bench: A2aBench) -> None:
    """Check that each page goes on behind the one before."""
    first = bench.ask("GET", "/v1/a2a/agents?limit=1").json()
    second = bench.ask("GET", f"/v1/a2a/agents?limit=1&cursor={first['next']}").json()
    assert [page["items"][0]["agentId"] for page in (first, second)] == ["steered", "word-stats"]
    assert second["next"] is None


@pytest.mark.parametrize("path", [f"/a2a/nobody{CARD}", "/a2a/nobody", "/a2a/word-stats/other"])
def test_refusals_have_the_form_of_a2a(bench: A2aBench, path: str) -> None:
    """Check that an agent or a path that is not there is a 404 that official clients can read."""
    response = bench.ask("POST" if path == "/a2a/nobody" else "GET", path, json={})
    assert response.status_code == 404
    assert response.json()["error"]["status"] == "NOT_FOUND"


@pytest.mark.parametrize("settings", [{"a2a_root_agent": "word-stats"}, {"a2a_agents": "w*"}])
def test_root_card(tmp_path: Path, settings: Json) -> None:
    """Check that the root has the card of the agent that is named, or of the only one."""
    with a2a_bench(tmp_path, manifest("another"), **settings) as bench:
        assert bench.ask("GET", CARD).json()["name"] == "word-stats"


def test_agents_that_are_not_offered(tmp_path: Path) -> None:
    """Check that an agent outside of the setting is not there for A2A."""
    with a2a_bench(tmp_path, a2a_agents="other-*,x") as bench:
        assert bench.ask("GET", WORDS).status_code == 404
        assert bench.ask("GET", "/v1/a2a/agents").json()["items"] == []


def test_door_that_is_off(tmp_path: Path) -> None:
    """Check that without the door there are none of its paths."""
    with a2a_bench(tmp_path, a2a=False) as bench:
        statuses = [bench.ask("GET", path).status_code for path in (WORDS, "/v1/a2a/agents", CARD)]
    assert statuses == [404] * 3


def test_cards_need_a_token(tmp_path: Path) -> None:
    """Check that with tokens a card needs one of any role, and says how to send it."""
    with a2a_bench(tmp_path, with_tokens=True) as bench:
        token = bench.new_token(Role.PRODUCER)
        assert bench.ask("GET", WORDS).status_code == 401
        assert "token_unknown" in bench.ask("GET", WORDS, "none").text
        card = bench.ask("GET", WORDS, token).json()
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
    assert "params" in card["capabilities"]["extensions"][0]
    assert "extendedAgentCard" not in card["capabilities"]


def test_public_cards_hide_the_schemas(tmp_path: Path) -> None:
    """Check that a public card leaves out the schemas, which callers with a token get."""
    with a2a_bench(tmp_path, with_tokens=True, a2a_public_cards=True) as bench:
        token = bench.new_token(Role.READER)
        card = bench.ask("GET", WORDS).json()
        whole = bench.result("GetExtendedAgentCard", token=token)
    assert card["capabilities"]["extendedAgentCard"] is True
    assert "params" not in card["capabilities"]["extensions"][0]
    assert "inputSchema" in whole["capabilities"]["extensions"][0]["params"]


def test_whole_card_where_there_is_no_other(bench: A2aBench) -> None:
    """GetExtendedAgentCard is refused where the card hides nothing."""
    assert bench.error("GetExtendedAgentCard")["code"] == -32004


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (schema(["q"], q="string", other="string"), "q"),
        (schema(["n"], n="integer", text="string"), "text"),
        (schema(["a", "b"], a="string", b="string"), None),
        (schema(text="string"), "text"),
        (schema(n="integer"), None),
        ({"type": "object"}, None),
        ({"type": "object", "properties": {"a": True}, "required": ["a"]}, None),
    ],
)
def test_property_that_holds_text(inputs: Json, expected: str | None) -> None:
    """Check that it is the only required one, else the only text."""
    assert mapping_of(with_schemas(inputs, schema())).text_input == expected


@pytest.mark.parametrize(
    "steering", [{"inputs": "auto"}, {"input": "both"}, {"textInput": 1}, {"examples": "x"}, 5]
)
def test_steering_that_is_not_defined(steering: Any) -> None:
    """Check that a mistake in `metadata.a2a` leaves the defaults, and shows."""
    mapping = mapping_of(with_schemas(schema(text="string"), schema(), steering))
    assert (mapping.text_input, mapping.takes_message, mapping.is_ignored) == ("text", False, True)


def test_output_as_parts() -> None:
    """Text comes first where the output has it, and each media type can be left out."""
    mapping = mapping_of(with_schemas(schema(), schema(summary="string")))
    output = {"summary": "short", "n": 6}
    text, data = mapping.show_output(output, accepted_modes([]))
    assert (text["text"], data["data"]) == ("short", output)
    assert mapping.show_output(output, ("text/plain",)) == [text]
    assert mapping.show_output(output, ("application/json",)) == [data]
    bare = mapping_of(with_schemas(schema(), schema(n="integer")))
    assert bare.show_output({"n": 6}, ("text/plain",))[0]["text"] == '{"n":6}'


@pytest.mark.parametrize(
    ("patterns", "agent", "expected"),
    [("*", "a", True), ("a,b", "b", True), ("a-*", "a-1", True), ("a-*", "b", False)],
)
def test_agents_by_patterns(patterns: str, agent: str, expected: bool) -> None:
    """Check that an agent is offered if one of the patterns fits its whole name."""
    assert is_exposed(Settings(a2a_agents=patterns), agent) is expected
