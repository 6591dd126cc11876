"""Tests of the import of a real MCP server as an agent."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import StdioServerParameters

from schemas.summit import check_manifest
from streams.cli import main
from streams.doors.mcp.foreign_manifest import manifest_of
from streams.doors.mcp.foreign_server import ServerDescription, target_of
from streams.doors.mcp.schema_drafts import to_2020_12
from streams.errors import UsageError

SERVER = """
from mcp.server import MCPServer

server = MCPServer("My Files", version="2.3.1")


@server.tool(name="read.text")
def read_text(path: str) -> str:
    "Read a file."
    return path


server.run()
"""


def mcp_tool(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def files_server(*tools: dict[str, Any], version: str = "2.3.1") -> ServerDescription:
    return ServerDescription("My Files", version, None, None, "2025-11-25", tools)


def schema_rule(**schema: Any) -> str:
    tool = mcp_tool("a", inputSchema={"type": "object", **schema})
    _, (row,) = manifest_of(files_server(tool), None, None)
    return row.rule


def test_a_manifest_of_a_server_is_valid_and_says_where_it_is_from() -> None:
    hints = {"readOnlyHint": True}
    tools = mcp_tool("a.b", annotations=hints), mcp_tool("a_b", description="x" * 5000)
    manifest, rows = manifest_of(files_server(*tools), None, None)
    assert not check_manifest(manifest)
    metadata = manifest["metadata"]
    assert (metadata["name"], metadata["version"]) == ("my-files", "2.3.1")
    assert metadata["mcp"]["tools"] == {
        "a_b": {"mcp": "a.b", "annotations": hints},
        "a_b_2": {"mcp": "a_b", "annotations": {}},
    }
    assert [row.rule for row in rows] == ["taken", "taken"]
    assert [len(tool["description"]) for tool in manifest["spec"]["tools"]] == [3, 4000]


def test_a_name_and_a_version_of_the_caller_come_first() -> None:
    server = files_server(mcp_tool("a"), mcp_tool("b"), version="2025-01")
    metadata = manifest_of(server, None, None)[0]["metadata"]
    assert metadata["version"] == "0.1.0"
    manifest, rows = manifest_of(server, "docs", "4.5.6", ["b"])
    assert (manifest["metadata"]["name"], manifest["metadata"]["version"]) == ("docs", "4.5.6")
    assert [row.mcp_name for row in rows] == ["b"]


def test_tools_are_left_out_by_rule() -> None:
    assert schema_rule(**{"$schema": "http://json-schema.org/draft-04/schema#"}) == (
        "mcp.tool_schema_dialect"
    )
    assert schema_rule(**{"$ref": "https://example.com/a"}) == "mcp.tool_schema_ref"
    assert schema_rule(pattern="(?=a)") == "mcp.tool_schema_pattern"
    assert schema_rule(minimum="one") == "mcp.tool_schema"
    malformed: tuple[Any, ...] = ([], "x", None)
    for definitions in malformed:
        assert schema_rule(definitions=definitions) == "mcp.tool_schema"
        assert schema_rule(definitions={}, **{"$defs": definitions}) == "mcp.tool_schema"
    needs_task = mcp_tool("a", execution={"taskSupport": "required"})
    names = [mcp_tool(f"t{i}") for i in range(65)]
    _, rows = manifest_of(files_server(needs_task, *names), None, None)
    assert (rows[0].rule, rows[64].rule) == ("mcp.tool_task_required", "taken")
    assert rows[65].rule == "mcp.tool_limit"


def test_a_default_that_breaks_its_schema_is_dropped_and_the_tool_taken() -> None:
    schema = {
        "type": "object",
        "definitions": {"n": {"type": "integer", "default": "one"}},
        "properties": {
            "a/b": {"type": "string", "default": 1},
            "each": {"allOf": [{"$ref": "#/definitions/n"}, {"enum": [1], "default": 2}]},
            "kept": {"type": "string", "default": "x"},
            "default": {"type": "integer", "default": 5},
        },
    }
    manifest, (row,) = manifest_of(files_server(mcp_tool("a", inputSchema=schema)), None, None)
    assert (row.rule, check_manifest(manifest)) == ("taken", [])
    assert manifest["spec"]["tools"][0]["arguments"] == {
        "type": "object",
        "$defs": {"n": {"type": "integer"}},
        "properties": {
            "a/b": {"type": "string"},
            "each": {"allOf": [{"$ref": "#/$defs/n"}, {"enum": [1]}]},
            "kept": {"type": "string", "default": "x"},
            "default": {"type": "integer", "default": 5},
        },
    }


def test_older_drafts_become_2020_12() -> None:
    older = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "integer", "x-mcp-header": "N"}},
        "properties": {
            "definitions": {"$ref": "#/definitions/n"},
            "pair": {"items": [{}, {}], "additionalItems": False},
            "same": {"const": {"definitions": 1}},
        },
        "dependencies": {"pair": ["same"], "same": {"required": ["pair"]}},
    }
    assert to_2020_12(older) == {
        "$defs": {"n": {"type": "integer"}},
        "properties": {
            "definitions": {"$ref": "#/$defs/n"},
            "pair": {"prefixItems": [{}, {}], "items": False},
            "same": {"const": {"definitions": 1}},
        },
        "dependentRequired": {"pair": ["same"]},
        "dependentSchemas": {"same": {"required": ["pair"]}},
    }


def test_a_server_gets_the_variables_named_and_none_of_headrace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("API_KEY", "k")
    monkeypatch.setenv("HEADRACE_TOKEN", "t")
    target = target_of("serve --all", ["API_KEY"])
    assert isinstance(target, StdioServerParameters)
    assert (target.command, target.args, target.env) == ("serve", ["--all"], {"API_KEY": "k"})
    for name in ("HEADRACE_TOKEN", "NOT_SET_AT_ALL"):
        with pytest.raises(UsageError, match=name):
            target_of("serve", [name])
    for source in ("", "a 'b"):
        with pytest.raises(UsageError, match="neither an address nor a command"):
            target_of(source)


@pytest.mark.slow
def test_a_server_that_runs_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    source = shlex.join([sys.executable, str(path)])
    register = ("summit", "register", "--print", "--from-mcp")
    result = CliRunner().invoke(main, [*register, source])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["spec"]["tools"][0]["name"] == "read_text"
    assert "read_text  read.text  taken" in result.stderr
    assert CliRunner().invoke(main, [*register, source, "--tools", "none"]).exit_code == 1
    gone = CliRunner().invoke(main, [*register, shlex.join([sys.executable, "-c", ""])])
    assert (gone.exit_code, "server_unreachable" in gone.stderr) == (4, True)


def test_files_and_a_server_are_not_given_together() -> None:
    both = ["--from-mcp", "x", "--bump", "--version", "1.0.0"]
    for arguments in ([], ["--print"], [__file__, "--from-mcp", "x"], [__file__, "--bump"], both):
        assert CliRunner().invoke(main, ["summit", "register", *arguments]).exit_code == 2
