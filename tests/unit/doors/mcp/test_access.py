"""Tests of tokens, roles and origins at `/mcp`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from streams.access import Role
from streams.errors import SettingsError
from streams.gateway.hosts import parse_origins
from tests.unit.doors.mcp.bench import MODERN, McpBench, mcp_bench
from tests.unit.doors.mcp.test_methods import message
from tests.unit.envelopes import idea

LIST = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}
FRIEND = "https://tools.example"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    folder = tmp_path_factory.mktemp("mcp")
    with mcp_bench(
        folder, with_tokens=True, mcp_origins=f"{FRIEND}, https://x.example:8443"
    ) as bench:
        yield bench


def names(bench: McpBench, *roles: Role) -> set[str]:
    token = bench.new_token(*roles)
    listed = bench.use(lambda client: client.list_tools(), token)
    return {tool.name for tool in listed.tools}


def test_the_roles_decide_which_tools_there_are(bench: McpBench) -> None:
    assert names(bench, Role.PRODUCER) == {"send"}
    assert names(bench, Role.READER) == names(bench, Role.OPERATOR) - {"send"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_tool_without_its_role_is_refused(bench: McpBench, mode: str) -> None:
    token = bench.new_token(Role.PRODUCER)
    result = bench.call("state", token, mode, node="apc:packet:x")
    assert result.is_error
    assert result.structured_content["rule"] == "role_missing"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_foreign_sender_is_refused(bench: McpBench, mode: str) -> None:
    token = bench.new_token(Role.PRODUCER, principal="somebody-else")
    result = bench.call("send", token, mode, topic="apc.packets", envelope=idea())
    assert result.is_error
    assert result.structured_content["status"] == 403
    assert result.structured_content["rule"] == "auth_sender", result.structured_content


def test_a_producer_gets_its_verdict(bench: McpBench) -> None:
    token = bench.new_token(Role.PRODUCER, principal="builder-1")
    result = bench.call("send", token, topic="apc.packets", envelope=idea())
    assert result.structured_content["verdict"] == "accepted", result.structured_content


def test_topics_of_operators_need_their_role(bench: McpBench) -> None:
    token = bench.new_token(Role.PRODUCER)
    result = bench.call("send", token, topic="sap.signals", envelope={})
    assert result.structured_content["rule"] == "role_missing"


def test_resources_and_prompts_need_a_reader(bench: McpBench) -> None:
    token = bench.new_token(Role.PRODUCER)
    with pytest.raises(MCPError) as caught:
        bench.use(lambda client: client.read_resource("headrace://topics"), token)
    assert caught.value.data["rule"] == "role_missing"


@pytest.mark.parametrize(
    ("token", "rule"), [(None, "token_missing"), ("hr_none_such", "token_unknown")]
)
def test_a_token_is_needed(bench: McpBench, token: str | None, rule: str) -> None:
    response = bench.post(message("tools/list"), token, **LIST)
    assert (response.status_code, response.json()["rule"]) == (401, rule)
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        (FRIEND, 200),
        ("https://x.example:8443", 200),
        ("https://x.example", 403),
        ("http://localhost:3000", 200),
    ],
)
def test_pages_of_other_origins_are_refused_with_tokens_too(
    bench: McpBench, origin: str, status: int
) -> None:
    token = bench.new_token(Role.READER)
    response = bench.post(message("tools/list"), token, origin=origin, **LIST)
    assert response.status_code == status
    if status == 403:
        assert response.json()["rule"] == "origin_foreign"


def test_an_origin_of_settings_passes_without_tokens(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, mcp_origins=FRIEND) as open_bench:
        assert open_bench.post(message("tools/list"), origin=FRIEND, **LIST).status_code == 200
        response = open_bench.post(message("tools/list"), origin="https://a.example", **LIST)
        assert response.status_code == 403
        response = open_bench.post(message("tools/list"), host="a.example", **LIST)
        assert (response.status_code, response.json()["rule"]) == (421, "host_foreign")


@pytest.mark.parametrize("text", ["nonsense", "https://"])
def test_origins_of_settings_are_checked(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_MCP_ORIGINS"):
        parse_origins(text)


def test_it_may_be_off(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, mcp=False) as off:
        assert off.post(message("tools/list"), **LIST).status_code == 404
        features: Any = off.bench.get("/v1/service")["features"]
        assert "mcp" not in features
