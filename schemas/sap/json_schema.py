"""JSON Schemas of tasks, results and signals, drawn from their shapes.

A named member that may be absent may be null, which is the same; unknown members are allowed.
"""

from __future__ import annotations

from typing import Any

from schemas.sap.shapes import (
    MOST,
    Flag,
    Form,
    Integer,
    Kind,
    ListOf,
    Number,
    Numbers,
    OfSignal,
    Open,
    Shape,
    Text,
    Word,
)

JsonSchema = dict[str, Any]
DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_NOT_BLANK = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_OBJECT = {"type": "object"}


def json_schema(shape: Shape) -> JsonSchema:
    """The schema of an envelope; the objects in it stand under `$defs`."""
    definitions: dict[str, JsonSchema] = {}
    root = _object(shape, definitions)
    return {**DIALECT, **root, "$defs": dict(sorted(definitions.items()))}


def _object(shape: Shape, definitions: dict[str, JsonSchema]) -> JsonSchema:
    properties = {}
    for name, kind, required in shape.members:
        shown = _schema(kind, definitions)
        properties[name] = shown if required or not shown else _or_null(shown)
    return {
        "title": shape.record,
        "type": "object",
        "properties": properties,
        "required": [member.name for member in shape.members if member.required],
        **({} if shape.most is None else {"maxProperties": shape.most}),
    }


def _or_null(schema: JsonSchema) -> JsonSchema:
    return {"anyOf": [schema, {"type": "null"}]}


def _schema(kind: Kind, definitions: dict[str, JsonSchema]) -> JsonSchema:
    match kind:
        case Shape(record):
            if record not in definitions:
                definitions[record] = {}
                definitions[record] = _object(kind, definitions)
            return {"$ref": f"#/$defs/{record}"}
        case ListOf(item):
            return {"type": "array", "items": _schema(item, definitions), "maxItems": MOST}
        case Numbers(value):
            values = _schema(value, definitions)
            return {"type": "object", "additionalProperties": values, "maxProperties": MOST}
        case OfSignal(base):
            return _schema(base, definitions)
        case Form(schema=more):
            return {"type": "string", **dict(more)}
        case Word(words):
            return {"type": "string", "enum": list(words)}
        case Open("any"):
            return {}
        case Open("list"):
            return {"type": "array", "items": _OBJECT, "maxItems": MOST}
        case Open():
            return dict(_OBJECT)
        case Flag():
            return {"type": "boolean"}
    return _simple(kind)


def _simple(kind: Text | Number | Integer) -> JsonSchema:
    if isinstance(kind, Text):
        shown: JsonSchema = {"type": "string", "maxLength": kind.most}
        return shown if kind.blank else {**shown, "pattern": _NOT_BLANK}
    if isinstance(kind, Integer):
        return {"type": "integer", "minimum": kind.low, "maximum": kind.high}
    bounds = {"minimum": kind.low, "maximum": kind.high}
    return {"type": "number", **{k: v for k, v in bounds.items() if v is not None}}
