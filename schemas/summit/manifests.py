"""The rules of manifests (Summit guide, 2.1, 2.2, 2.6, 3), and their JSON form on the log."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json
from schemas.json_mapping.json_form import UnparsableJson
from schemas.problems import Problem
from schemas.rules import Rule
from schemas.summit import rules, words
from schemas.summit.calls import check_budget
from schemas.summit.checker import (
    ANY_ORDER,
    Checker,
    JsonPath,
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
    """Check the JSON of a manifest; return the problems, the deciding one first.

    A tool may have `inputSchema` instead of `arguments`.
    """
    check = Checker("manifest", ANY_ORDER)
    if check.an_object(rules.MANIFEST_SHAPE, value, ()) and isinstance(value, dict):
        _check_members(check, value)
    return check.problems()


def manifest_form(value: JsonObject) -> JsonObject:
    """Return the form of a manifest that is logged and hashed: tool schemas under `arguments`."""
    spec = value.get("spec")
    if not isinstance(spec, dict) or not isinstance(tools := spec.get("tools"), list):
        return value
    return {**value, "spec": {**spec, "tools": [tool_form(tool) for tool in tools]}}


def tool_form(tool: Any) -> Any:
    """Rename `inputSchema` of a ToolDefinition to `arguments`; keep both if they differ."""
    if not isinstance(tool, dict) or "inputSchema" not in tool:
        return tool
    schema = tool["inputSchema"]
    if not _equal_json(tool.get("arguments", schema), schema):
        return tool
    members = others(tool, ("inputSchema",))
    return members if "arguments" in members else {**members, "arguments": schema}


def mcp_tool(tool: JsonObject) -> JsonObject:
    """Convert a ToolDefinition to the Model Context Protocol: `inputSchema` for `arguments`."""
    return {
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["arguments"],
    }


def _equal_json(one: Any, other: Any) -> bool:
    try:
        return canonical_json(one) == canonical_json(other)
    except ValueError:
        return False


def _check_members(check: Checker, manifest: JsonObject) -> None:
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


def check_metadata(check: Checker, metadata: Any, path: JsonPath) -> None:
    shape = rules.MANIFEST_SHAPE
    if not check.an_object(shape, metadata, path):
        return
    check.members(metadata, path, tuple(metadata), _METADATA[:2], shape)
    name = "1 to 100 lower-case letters, digits and -"
    check.text(metadata, "name", path, rules.MANIFEST_NAME, is_agent_id, name, shape)
    version = "x.y.z, three numbers without leading zeros"
    check.text(metadata, "version", path, rules.MANIFEST_VERSION, is_version, version, shape)
    text = rules.MANIFEST_TEXT
    check.text(metadata, "description", path, text, chars(1, 4000), _TEXT, shape)
    if "judge" in metadata:
        _check_judge(check, metadata["judge"], (*path, "judge"), metadata.get("name"))
    extra = others(metadata, _METADATA)
    for member, value in extra.items():
        check.well_formed(rules.JSON_INVALID, value, (*path, str(member)))
    if extra and not any(isinstance(value, UnparsableJson) for value in extra.values()):
        check.at_most(text, extra, path, words.MAX_EXTRA_BYTES)


def names_critic(judge: Any, name: str) -> bool:
    """Return whether a value is one that `metadata.judge` of an agent of that name may have."""
    check = Checker("judge", ANY_ORDER)
    _check_judge(check, judge, (), name)
    return not check.problems()


def _check_judge(check: Checker, judge: Any, path: JsonPath, name: Any) -> None:
    """Check the critic that is to judge the agent's runs.  name: of the agent itself."""
    rule = rules.MANIFEST_JUDGE
    if not check.an_object(rule, judge, path):
        return
    check.members(judge, path, ("agentId", "budget"), ("agentId",), rule)
    critic = "another agent's name, 1 to 100 lower-case letters, digits and -"
    check.text(
        judge, "agentId", path, rule, lambda text: is_agent_id(text) and text != name, critic
    )
    if "budget" in judge:
        budget = Checker("budget", ANY_ORDER)
        check_budget(budget, judge["budget"], (*path, "budget"))
        check.take([problem._replace(rule=rule.code) for problem in budget.problems()])


def check_spec(check: Checker, spec: Any, path: JsonPath) -> None:
    shape = rules.MANIFEST_SHAPE
    if not check.an_object(shape, spec, path):
        return
    check.members(spec, path, (*_SPEC, "resources", "tools"), _SPEC, shape)
    role = f"{', '.join(words.ROLES)}, or x- and a name"
    check.text(spec, "role", path, rules.MANIFEST_ROLE, is_role, role, shape)
    if "capabilities" in spec:
        _check_capabilities(check, spec["capabilities"], (*path, "capabilities"))
    if "resources" in spec:
        _check_resources(check, spec["resources"], (*path, "resources"))
    if "interface" in spec:
        check_interface(check, spec["interface"], (*path, "interface"))
    if "tools" in spec:
        _check_tools(check, spec["tools"], (*path, "tools"))


def check_interface(check: Checker, interface: Any, path: JsonPath) -> None:
    shape = rules.MANIFEST_SHAPE
    if check.an_object(shape, interface, path):
        check.members(interface, path, _INTERFACE, _INTERFACE, shape)
        for name in _INTERFACE:
            if name in interface:
                _check_schema(check, interface[name], (*path, name), shape)


def _check_capabilities(check: Checker, capabilities: Any, path: JsonPath) -> None:
    if not isinstance(capabilities, list):
        check.add_problem(rules.MANIFEST_SHAPE, path, "must be a list of strings")
        return
    if len(capabilities) > words.MAX_CAPABILITIES:
        what = f"must have at most {words.MAX_CAPABILITIES} items"
        check.add_problem(rules.MANIFEST_CAPABILITY, path, what)
    seen: set[str] = set()
    for i, item in enumerate(capabilities):
        if not isinstance(item, str):
            check.add_problem(rules.MANIFEST_SHAPE, (*path, i), "must be a string")
        elif not is_capability(item) or item in seen:
            what = "must be group:name, of at most 128 characters, and given once"
            check.add_problem(rules.MANIFEST_CAPABILITY, (*path, i), what)
        else:
            seen.add(item)


def _check_resources(check: Checker, resources: Any, path: JsonPath) -> None:
    if not check.an_object(rules.MANIFEST_SHAPE, resources, path):
        return
    rule = rules.MANIFEST_RESOURCES
    if len(resources) > words.MAX_RESOURCES:
        check.add_problem(rule, path, f"must have at most {words.MAX_RESOURCES} members")
    for name in resources:
        if not isinstance(name, str) or not is_resource(name):
            check.add_problem(
                rule, path, "has a name that is not a letter and letters, digits or _"
            )
            continue
        what = "a string of 1 to 64 characters"
        check.text(resources, name, path, rule, chars(1, 64), what, rules.MANIFEST_SHAPE)


def _check_tools(check: Checker, tools: Any, path: JsonPath) -> None:
    if not isinstance(tools, list):
        check.add_problem(rules.MANIFEST_SHAPE, path, "must be a list of tools")
        return
    rule = rules.MANIFEST_TOOL
    if len(tools) > words.MAX_TOOLS:
        check.add_problem(rule, path, f"must have at most {words.MAX_TOOLS} tools")
    seen: set[str] = set()
    for i, tool in enumerate(tools):
        at = (*path, i)
        if not check.an_object(rules.MANIFEST_SHAPE, tool, at):
            continue
        check_tool(check, tool, at)
        name = tool.get("name")
        if isinstance(name, str) and name in seen:
            check.add_problem(rule, (*at, "name"), "must be of one tool only")
        elif isinstance(name, str):
            seen.add(name)


def check_tool(check: Checker, tool: JsonObject, path: JsonPath) -> None:
    rule = rules.MANIFEST_TOOL
    check.members(tool, path, _TOOL, _TOOL[:2], rules.MANIFEST_SHAPE, rule)
    check.text(tool, "name", path, rule, is_tool_name, "1 to 64 letters, digits, _ and -")
    check.text(tool, "description", path, rule, chars(1, 4000), _TEXT)
    both = "arguments" in tool and "inputSchema" in tool
    if both and not _equal_json(tool["arguments"], tool["inputSchema"]):
        check.add_problem(rule, (*path, "inputSchema"), "must equal arguments")
    for name in ("arguments", "inputSchema"):
        if name in tool:
            _check_schema(check, tool[name], (*path, name), rule)
            return
    check.add_problem(rule, (*path, "arguments"), "is missing")


def _check_schema(check: Checker, schema: Any, path: JsonPath, shape: Rule) -> None:
    """Check a JSON Schema in a manifest.

    shape: the rule for a schema that is no object.
    """
    if not check.well_formed(rules.JSON_INVALID, schema, path):
        return
    if not check.an_object(shape, schema, path):
        return
    from schemas.summit.manifest_schema import schema_problems  # its libraries load slowly

    check.take(schema_problems(schema, path, check.patterns))
