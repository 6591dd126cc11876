"""The rules of manifests (spec 2.1, 2.2, 2.6, 3), and their form on the log."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json
from schemas.json_mapping.json_form import UnparsableJson
from schemas.problems import Problem
from schemas.rules import Rule
from schemas.summit import rules, words
from schemas.summit.checker import (
    ANY_ORDER,
    Checker,
    Place,
    chars,
    is_agent_id,
    is_capability,
    is_resource,
    is_role,
    is_tool_name,
    is_version,
    others,
)

JsonObject = dict[str, Any]
_METADATA = ("name", "version", "description")
_SPEC = ("role", "capabilities", "interface")
_INTERFACE = ("inputSchema", "outputSchema")
_TOOL = ("name", "description", "arguments", "inputSchema")
_TEXT = "a string of 1 to 4000 characters"


def check_manifest(value: object) -> list[Problem]:
    """What breaks the rules of a manifest's JSON, what decides first; none if it is valid.

    A tool may have `inputSchema` in place of `arguments`.
    """
    check = Checker("manifest", ANY_ORDER)
    if check.an_object(rules.MANIFEST_SHAPE, value, ()) and isinstance(value, dict):
        _manifest(check, value)
    return check.problems()


def manifest_form(value: JsonObject) -> JsonObject:
    """A manifest as the log and its hash have it: tool schemas under `arguments`."""
    spec = value.get("spec")
    if not isinstance(spec, dict) or not isinstance(tools := spec.get("tools"), list):
        return value
    return {**value, "spec": {**spec, "tools": [tool_form(tool) for tool in tools]}}


def tool_form(tool: Any) -> Any:
    """A ToolDefinition with `arguments` for `inputSchema`; where they differ, with both."""
    if not isinstance(tool, dict) or "inputSchema" not in tool:
        return tool
    schema = tool["inputSchema"]
    if not _same(tool.get("arguments", schema), schema):
        return tool
    rest = others(tool, ("inputSchema",))
    return rest if "arguments" in rest else {**rest, "arguments": schema}


def mcp_tool(tool: JsonObject) -> JsonObject:
    """A ToolDefinition as the Model Context Protocol has it: `inputSchema` for `arguments`."""
    return {
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["arguments"],
    }


def _same(one: Any, other: Any) -> bool:
    try:
        return canonical_json(one) == canonical_json(other)
    except ValueError:
        return False


def _manifest(check: Checker, manifest: JsonObject) -> None:
    shape = rules.MANIFEST_SHAPE
    listed = ("apiVersion", "kind", "metadata", "spec")
    check.members(manifest, (), listed, listed, shape)
    version = words.API_VERSION
    check.text(
        manifest, "apiVersion", (), rules.MANIFEST_API_VERSION, version.__eq__, version, shape
    )
    kind = words.MANIFEST_KIND
    check.text(manifest, "kind", (), rules.MANIFEST_KIND, kind.__eq__, kind, shape)
    if "metadata" in manifest:
        check_metadata(check, manifest["metadata"], ("metadata",))
    if "spec" in manifest:
        check_spec(check, manifest["spec"], ("spec",))
    check.at_most(rules.MANIFEST_SIZE, manifest_form(manifest), (), words.MAX_MANIFEST_BYTES)


def check_metadata(check: Checker, metadata: Any, place: Place) -> None:
    shape = rules.MANIFEST_SHAPE
    if not check.an_object(shape, metadata, place):
        return
    check.members(metadata, place, tuple(metadata), _METADATA[:2], shape)
    name = "1 to 100 lower-case letters, digits and -"
    check.text(metadata, "name", place, rules.MANIFEST_NAME, is_agent_id, name, shape)
    version = "x.y.z, three numbers without leading zeros"
    check.text(metadata, "version", place, rules.MANIFEST_VERSION, is_version, version, shape)
    text = rules.MANIFEST_TEXT
    check.text(metadata, "description", place, text, chars(1, 4000), _TEXT, shape)
    extra = others(metadata, _METADATA)
    for member, value in extra.items():
        check.well_formed(rules.JSON_INVALID, value, (*place, str(member)))
    if extra and not any(isinstance(value, UnparsableJson) for value in extra.values()):
        check.at_most(text, extra, place, words.MAX_EXTRA_BYTES)


def check_spec(check: Checker, spec: Any, place: Place) -> None:
    shape = rules.MANIFEST_SHAPE
    if not check.an_object(shape, spec, place):
        return
    check.members(spec, place, (*_SPEC, "resources", "tools"), _SPEC, shape)
    role = f"{', '.join(words.ROLES)}, or x- and a name"
    check.text(spec, "role", place, rules.MANIFEST_ROLE, is_role, role, shape)
    if "capabilities" in spec:
        _capabilities(check, spec["capabilities"], (*place, "capabilities"))
    if "resources" in spec:
        _resources(check, spec["resources"], (*place, "resources"))
    if "interface" in spec:
        check_interface(check, spec["interface"], (*place, "interface"))
    if "tools" in spec:
        _tools(check, spec["tools"], (*place, "tools"))


def check_interface(check: Checker, interface: Any, place: Place) -> None:
    shape = rules.MANIFEST_SHAPE
    if check.an_object(shape, interface, place):
        check.members(interface, place, _INTERFACE, _INTERFACE, shape)
        for name in _INTERFACE:
            if name in interface:
                _schema(check, interface[name], (*place, name), shape)


def _capabilities(check: Checker, told: Any, place: Place) -> None:
    if not isinstance(told, list):
        check.broken(rules.MANIFEST_SHAPE, place, "must be a list of strings")
        return
    if len(told) > words.MAX_CAPABILITIES:
        what = f"must have at most {words.MAX_CAPABILITIES} items"
        check.broken(rules.MANIFEST_CAPABILITY, place, what)
    seen: set[str] = set()
    for i, item in enumerate(told):
        if not isinstance(item, str):
            check.broken(rules.MANIFEST_SHAPE, (*place, i), "must be a string")
        elif not is_capability(item) or item in seen:
            what = "must be group:name, of at most 128 characters, and given once"
            check.broken(rules.MANIFEST_CAPABILITY, (*place, i), what)
        else:
            seen.add(item)


def _resources(check: Checker, told: Any, place: Place) -> None:
    if not check.an_object(rules.MANIFEST_SHAPE, told, place):
        return
    rule = rules.MANIFEST_RESOURCES
    if len(told) > words.MAX_RESOURCES:
        check.broken(rule, place, f"must have at most {words.MAX_RESOURCES} members")
    for name in told:
        if not isinstance(name, str) or not is_resource(name):
            check.broken(rule, place, "has a name that is not a letter and letters, digits or _")
            continue
        what = "a string of 1 to 64 characters"
        check.text(told, name, place, rule, chars(1, 64), what, rules.MANIFEST_SHAPE)


def _tools(check: Checker, told: Any, place: Place) -> None:
    if not isinstance(told, list):
        check.broken(rules.MANIFEST_SHAPE, place, "must be a list of tools")
        return
    rule = rules.MANIFEST_TOOL
    if len(told) > words.MAX_TOOLS:
        check.broken(rule, place, f"must have at most {words.MAX_TOOLS} tools")
    seen: set[str] = set()
    for i, tool in enumerate(told):
        at = (*place, i)
        if not check.an_object(rules.MANIFEST_SHAPE, tool, at):
            continue
        check_tool(check, tool, at)
        name = tool.get("name")
        if isinstance(name, str) and name in seen:
            check.broken(rule, (*at, "name"), "must be of one tool only")
        elif isinstance(name, str):
            seen.add(name)


def check_tool(check: Checker, tool: JsonObject, place: Place) -> None:
    rule = rules.MANIFEST_TOOL
    check.members(tool, place, _TOOL, _TOOL[:2], rules.MANIFEST_SHAPE, rule)
    check.text(tool, "name", place, rule, is_tool_name, "1 to 64 letters, digits, _ and -")
    check.text(tool, "description", place, rule, chars(1, 4000), _TEXT)
    both = "arguments" in tool and "inputSchema" in tool
    if both and not _same(tool["arguments"], tool["inputSchema"]):
        check.broken(rule, (*place, "inputSchema"), "must equal arguments")
    for name in ("arguments", "inputSchema"):
        if name in tool:
            _schema(check, tool[name], (*place, name), rule)
            return
    check.broken(rule, (*place, "arguments"), "is missing")


def _schema(check: Checker, schema: Any, place: Place, shape: Rule) -> None:
    """shape: the rule for what is no object."""
    if not check.well_formed(rules.JSON_INVALID, schema, place):
        return
    if not check.an_object(shape, schema, place):
        return
    from schemas.summit.manifest_schema import schema_problems  # its libraries load slowly

    check.take(schema_problems(schema, place, check.patterns))
