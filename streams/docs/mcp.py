"""The page on the tools, resources and prompts of the MCP door."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.docs.markdown import code, grid
from streams.doors.mcp.prompts import PROMPTS
from streams.doors.mcp.resources import LISTED, TEMPLATES
from streams.doors.mcp.tools import TOOLS, Tool


def mcp_page() -> str:
    tools = "\n".join(_tool(tool) for tool in TOOLS)
    resources = [(code(each.uri), code(each.media), each.description) for each in TEMPLATES]
    resources += [(code(each.uri), code(each.media), each.description) for each in LISTED]
    prompts = [
        (code(each.name), code(each.argument), each.meaning, each.description) for each in PROMPTS
    ]
    return (
        "# MCP\n\n"
        "Tools, resources and prompts at `/mcp`. What they are for, and how hosts are configured:\n"
        "[the Model Context Protocol](../mcp.md).\n\n"
        f"## Tools\n\n{tools}\n"
        f"## Resources\n\n{grid(('address', 'type', 'content'), resources)}\n"
        f"## Prompts\n\n{grid(('prompt', 'argument', 'meaning', 'does'), prompts)}"
    )


def _tool(tool: Tool) -> str:
    rows = list(_arguments(tool.takes))
    members = ", ".join(code(name) for name in tool.returns.get("properties", {}))
    returns = f"Returns {members}.\n" if members else "Returns the body of the route.\n"
    head = f"### `{tool.name}`\n\n{tool.description} Role: {tool.role}.\n\n"
    return f"{head}{grid(('argument', 'default', 'form'), rows)}\n{returns}"


def _arguments(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, member in schema["properties"].items():
        is_needed = name in schema.get("required", ())
        default = code(str(member["default"])) if "default" in member else ""
        yield code(name), "required" if is_needed else default, _form(member)


def _form(member: dict[str, Any]) -> str:
    kinds = member.get("type", "any")
    form = kinds if isinstance(kinds, str) else " or ".join(kinds)
    if "enum" in member:
        form = ", ".join(map(code, member["enum"]))
    if "minimum" in member and "maximum" in member:
        form += f", {member['minimum']} to {member['maximum']}"
    if "minItems" in member and "maxItems" in member:
        form += f" of {member['minItems']} to {member['maxItems']}"
    return ". ".join(filter(None, (form, member.get("description", "").rstrip("."))))
