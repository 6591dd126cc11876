"""JSON Schemas of older drafts, brought to draft 2020-12, in which manifests have theirs.

A server names a draft by `$schema`; one that names none may have written any.  What is the same in
all drafts stays as it is; data (`const`, `enum`, `default`, `examples`) is never touched.
"""

from __future__ import annotations

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OLDER = ("http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-07/schema")
_DATA = frozenset({"const", "enum", "default", "examples"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_HEADER = "x-mcp-header"
_OLD_REF, _NEW_REF = "#/definitions/", "#/$defs/"


def to_2020_12(schema: Any) -> Any:
    """Convert a schema of draft 6, 7 or none; one of another dialect keeps its `$schema`."""
    if not isinstance(schema, dict):
        return schema
    dialect = schema.get("$schema")
    older = dialect is None or (isinstance(dialect, str) and dialect.rstrip("#") in _OLDER)
    if older:
        schema = {name: value for name, value in schema.items() if name != "$schema"}
    return _convert(schema, older)


def without_headers(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of 2020-12 without `x-mcp-header`, by which a server asks for headers."""
    converted: dict[str, Any] = _convert(schema, older=False)
    return converted


def _convert(schema: Any, older: bool) -> Any:
    if isinstance(schema, list):
        return [_convert(each, older) for each in schema]
    if not isinstance(schema, dict):
        return schema
    members = {name: value for name, value in schema.items() if name != _HEADER}
    if older:
        members = _renamed(members)
    return {name: _member(name, value, older) for name, value in members.items()}


def _member(name: str, value: Any, older: bool) -> Any:
    if name in _DATA:
        return value
    if name == "$ref" and older and isinstance(value, str) and value.startswith(_OLD_REF):
        return _NEW_REF + value.removeprefix(_OLD_REF)
    if name in _BY_NAME and isinstance(value, dict):
        return {key: _convert(each, older) for key, each in value.items()}
    return _convert(value, older)


def _renamed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a schema under the names that they have in 2020-12."""
    members = dict(schema)
    if "definitions" in members:
        _join_definitions(members, members.pop("definitions"))
    if isinstance(members.get("items"), list):
        members["prefixItems"] = members.pop("items")
        if "additionalItems" in members:
            members["items"] = members.pop("additionalItems")
    else:
        members.pop("additionalItems", None)  # it means nothing beside one schema of all items
    if isinstance(members.get("dependencies"), dict):
        _split(members, members.pop("dependencies"))
    return members


def _join_definitions(members: dict[str, Any], older: Any) -> None:
    """Add `definitions` to `$defs`; what is no table of schemas is left for the check to refuse."""
    named = members.get("$defs", {})
    if isinstance(older, dict):
        members["$defs"] = older | named if isinstance(named, dict) else named
    else:
        members["$defs"] = older


def _split(members: dict[str, Any], dependencies: dict[str, Any]) -> None:
    lists = {name: each for name, each in dependencies.items() if isinstance(each, list)}
    schemas = {name: each for name, each in dependencies.items() if name not in lists}
    if lists:
        members["dependentRequired"] = lists
    if schemas:
        members["dependentSchemas"] = schemas
