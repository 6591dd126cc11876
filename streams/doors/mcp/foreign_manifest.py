"""The Summit manifest of a real MCP server: each of its tools, or the rule that leaves it out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from schemas import Problem
from schemas.summit import check_manifest, words
from streams.doors.mcp.foreign_server import ServerDescription
from streams.doors.mcp.schema_drafts import to_2020_12

TAKEN = "taken"
_NAME_CHARS, _TEXT_CHARS, _AGENT_CHARS = 64, 4000, 100
_VERSION = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}")
_FIRST_VERSION = "0.1.0"
_RULES = {
    "manifest.schema_dialect": "mcp.tool_schema_dialect",
    "manifest.schema_ref": "mcp.tool_schema_ref",
    "manifest.schema_pattern": "mcp.tool_schema_pattern",
}
_DEFAULT_RULE, _TOOL_PATH = "manifest.schema_default", "/spec/tools/0/"
_OTHER, _TASK, _LIMIT = "mcp.tool_schema", "mcp.tool_task_required", "mcp.tool_limit"
Json = dict[str, Any]


class Choice(NamedTuple):
    """A tool of the server.  name: in the manifest.  rule: `taken`, or why it is left out."""

    name: str
    mcp_name: str
    rule: str
    tool: Json
    annotations: Json


def manifest_of(
    server: ServerDescription, name: str | None, version: str | None, chosen: Collection[str] = ()
) -> tuple[Json, list[Choice]]:
    """Return the manifest, and what becomes of each tool.

    chosen: MCP names; no others are looked at, if there are any.
    """
    tools = [each for each in server.tools if not chosen or each["name"] in chosen]
    choices = [*_judge(tools)]
    taken = [each for each in choices if each.rule == TAKEN]
    return _manifest(server, name, version, taken), choices


def _judge(tools: Collection[Json]) -> Iterator[Choice]:
    names: set[str] = set()
    taken = 0
    for tool in tools:
        name = _free_name(tool["name"], names)
        names.add(name)
        description = (tool.get("description") or tool.get("title") or tool["name"])[:_TEXT_CHARS]
        arguments = to_2020_12(tool["inputSchema"])
        definition = {"name": name, "description": description, "arguments": arguments}
        rule = _checked(tool, definition) if taken < words.MAX_TOOLS else _LIMIT
        taken += rule == TAKEN
        yield Choice(name, tool["name"], rule, definition, tool.get("annotations") or {})


def _free_name(mcp_name: str, names: Collection[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", mcp_name)[:_NAME_CHARS] or "_"
    candidate, number = name, 1
    while candidate in names:
        number += 1
        end = f"_{number}"
        candidate = name[: _NAME_CHARS - len(end)] + end
    return candidate


def _checked(tool: Json, definition: Json) -> str:
    """Return the rule of a tool; drop the defaults that break their own schemas before."""
    if (tool.get("execution") or {}).get("taskSupport") == "required":
        return _TASK
    while problems := check_manifest(_shell("a", _FIRST_VERSION, "a", [definition])):
        if not all(_drop_default(definition, each) for each in problems):
            return _RULES.get(problems[0].rule, _OTHER)
    return TAKEN


def _drop_default(definition: Json, problem: Problem) -> bool:
    """Drop the default that a problem is about, and return whether there was one."""
    if problem.rule != _DEFAULT_RULE:
        return False
    steps = problem.path.removeprefix(_TOOL_PATH).split("/")
    *parents, last = (step.replace("~1", "/").replace("~0", "~") for step in steps)
    value: Any = definition
    for step in parents:
        value = _member(value, step)
    return isinstance(value, dict) and value.pop(last, problem) is not problem


def _member(value: Any, step: str) -> Any:
    """Return what a step of a JSON Pointer leads to; None where it leads nowhere."""
    if isinstance(value, list):
        return value[int(step)] if step.isdecimal() and int(step) < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def _manifest(
    server: ServerDescription, name: str | None, version: str | None, taken: list[Choice]
) -> Json:
    server_version = server.version if _VERSION.fullmatch(server.version) else _FIRST_VERSION
    text = (server.instructions or server.title or server.name)[:_TEXT_CHARS] or "An MCP server."
    agent = name or _agent_name(server.name)
    manifest = _shell(agent, version or server_version, text, [each.tool for each in taken])
    manifest["metadata"]["mcp"] = {
        "server": {"name": server.name, "version": server.version},
        "protocolVersion": server.protocol_version,
        "tools": {each.name: _remembered(each) for each in taken},
    }
    return manifest


def _remembered(choice: Choice) -> Json:
    other = {} if choice.mcp_name == choice.name else {"mcp": choice.mcp_name}
    return {**other, "annotations": choice.annotations}


def _agent_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain[:_AGENT_CHARS].strip("-") or "mcp"


def _shell(name: str, version: str, description: str, tools: list[Json]) -> Json:
    """Build a manifest: to invoke the agent is to call one of its tools."""
    names = {"enum": [each["name"] for each in tools]} if tools else {"type": "string"}
    inputs = {
        "type": "object",
        "required": ["tool", "arguments"],
        "additionalProperties": False,
        "properties": {"tool": names, "arguments": {"type": "object"}},
    }
    return {
        "apiVersion": words.API_VERSION,
        "kind": words.MANIFEST_KIND,
        "metadata": {"name": name, "version": version, "description": description},
        "spec": {
            "role": "x-mcp",
            "capabilities": ["mcp:tools"],
            "interface": {"inputSchema": inputs, "outputSchema": {"type": "object"}},
            "tools": tools,
        },
    }
