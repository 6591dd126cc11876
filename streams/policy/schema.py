"""The JSON Schema (2020-12) of policy files, for editors and other checkers of TOML.

Source: policies, 2.
"""

from __future__ import annotations

from typing import Any

from streams.policy.bundle import FORMAT, as_json, default_of
from streams.policy.members import MEMBERS, Form, Member
from streams.protocols.saop.settings import TASK_PROFILES
from streams.settings.tables import Column, Columns

_AGENT = {"type": "string", "pattern": "^[a-z0-9-]{1,100}$"}


def policy_schema() -> dict[str, Any]:
    """Return the schema of a policy file."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A policy of headrace",
        **_table(),
        "required": ["format", "name", "version"],
    }
    schema["properties"] |= {
        "format": {"const": FORMAT},
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
        "version": {"type": "string", "minLength": 1, "maxLength": 64},
        "description": {"type": "string", "maxLength": 2000},
    }
    for member in MEMBERS.values():
        *sections, name = member.path.split(".")
        table = schema
        for section in sections:
            table = table["properties"].setdefault(section, _table())
        table["properties"][name] = _member_schema(member)
    return schema


def _table() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _member_schema(member: Member) -> dict[str, Any]:
    declaration = member.declaration
    default = as_json(default_of(member))
    return {
        **_value_schema(member),
        "description": declaration.meaning,
        **({} if default is None else {"default": default}),
        "x-setting": declaration.env,
    }


def _value_schema(member: Member) -> dict[str, Any]:
    bounds = {
        "minimum": as_json(member.declaration.low),
        "maximum": member.declaration.high,
    }
    match member.form:
        case Form.WHOLE:
            return {"type": "integer", **bounds}
        case Form.DECIMAL:
            return {"type": "number", **bounds}
        case Form.FLAG:
            return {"type": "boolean"}
        case Form.WORD:
            return {"enum": list(member.declaration.choices)}
        case Form.WORDS:
            words = {"enum": list(member.declaration.choices)}
            return {"type": "array", "items": words, "uniqueItems": True}
        case Form.FILE:
            return {"type": "string", "minLength": 1}
        case Form.TABLES:
            assert member.declaration.columns is not None
            return _tables_schema(member.declaration.columns)
        case Form.PRINCIPALS:
            glob = {"type": "string", "pattern": r"^[^\s,\x00-\x1f\x7f]{1,256}$"}
            return {"type": "array", "items": glob, "minItems": 1, "uniqueItems": True}
        case Form.PREFIXES:
            return {"type": "object", "additionalProperties": {"enum": list(TASK_PROFILES)}}
    entry = {"agent": _AGENT, "critic": _AGENT}
    items = {
        "type": "object",
        "properties": entry,
        "required": list(entry),
        "additionalProperties": False,
    }
    return {"type": "array", "items": items}


def _tables_schema(columns: Columns) -> dict[str, Any]:
    table = {
        "type": "object",
        "properties": {column.name: _column_schema(column) for column in columns.columns},
        "required": [column.name for column in columns.columns if column.required],
        "additionalProperties": False,
    }
    return {"type": "array", "items": table, "maxItems": columns.high}


def _column_schema(column: Column) -> dict[str, Any]:
    bounds = {"minimum": column.low, "maximum": column.high}
    match column.kind:
        case "whole number":
            return {"type": "integer", **bounds}
        case "decimal":
            return {"type": "number", **bounds}
        case "true or false":
            return {"type": "boolean"}
        case "texts":
            lengths = {"minItems": column.low, "maxItems": column.high}
            return {"type": "array", "items": {"type": "string"}, **lengths}
    if column.choices:
        return {"enum": list(column.choices)}
    if column.pattern is not None:
        return {"type": "string", "pattern": f"^(?:{column.pattern[0]})$"}
    return {"type": "string", "minLength": column.low, "maxLength": column.high}
