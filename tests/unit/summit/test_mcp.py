"""Tools against the official `mcp` package: its tool type takes ours, and ours takes its (2.2)."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import ListToolsResult, Tool

from schemas.summit import SummitManifest, ToolDefinition, manifest_hash, mcp_tool
from streams.agents.summit.__main__ import EXAMPLES, manifest_of

Json = dict[str, Any]
SCHEMAS: list[Json] = [
    {"type": "object"},
    {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}},
    {
        "type": "object",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"size": {"type": "integer", "minimum": 1, "default": 3}},
        "properties": {
            "size": {"$ref": "#/$defs/size"},
            "tags": {"type": "array", "items": {"enum": ["a", None, 1.5, True, {"b": []}]}},
        },
        "additionalProperties": False,
    },
]


def tool(schema: Json) -> Json:
    return {"name": "slugify_2-a", "description": "Slugs – of titles.", "arguments": schema}


def manifest(tools: list[Json]) -> Json:
    made = manifest_of("word-stats").to_json()
    made["spec"]["tools"] = tools
    return made


def dumped(listed: Tool) -> Json:
    """As an MCP server sends it."""
    return listed.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_tool_goes_to_mcp_and_back(schema: Json) -> None:
    ours = tool(schema)
    theirs = Tool.model_validate(mcp_tool(ours))
    assert (theirs.name, theirs.description) == (ours["name"], ours["description"])
    assert theirs.model_dump(by_alias=True)["inputSchema"] == schema
    assert dumped(theirs) == mcp_tool(ours), "nothing is lost, nothing is added"
    assert ToolDefinition.from_json(dumped(theirs)).to_json() == ours


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_manifest_with_tools_of_mcp_is_the_same_manifest(schema: Json) -> None:
    ours = manifest([tool(schema)])
    theirs = manifest([dumped(Tool.model_validate(mcp_tool(tool(schema))))])
    summit_manifest = SummitManifest.from_json(theirs)
    assert summit_manifest.check() == []
    assert manifest_hash(summit_manifest.to_json()) == manifest_hash(ours)


def test_a_list_of_tools_of_the_examples_is_one_of_mcp() -> None:
    tools = [mcp_tool(one.to_json()) for name in EXAMPLES for one in manifest_of(name).spec.tools]
    tool_list = ListToolsResult.model_validate({"tools": tools})
    assert [dumped(one) for one in tool_list.tools] == tools
    assert [one.name for one in tool_list.tools] == ["slugify"]
