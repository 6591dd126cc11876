"""The JSON Schemas of envelopes and the Avro records of all objects, made from their shapes.

In a JSON Schema, a named member that may be absent may be null, which is the same; unknown members
are allowed.  An Avro record has open JSON as text, and unknown members in `extra_json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from schemas.json_mapping.mapping import EXTRA
from schemas.objects import JsonObject
from schemas.sap.constants import NAMESPACE
from schemas.sap.models import ENVELOPES, SHAPES
from schemas.sap.shapes import (
    MAX_ITEMS,
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
from schemas.sources import record_text

JsonSchema = dict[str, Any]
DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_NOT_BLANK = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_OBJECT = {"type": "object"}


def json_schema(shape: Shape) -> JsonSchema:
    """Return the schema of an envelope; the objects in it are under `$defs`."""
    definitions: dict[str, JsonSchema] = {}
    root = _object(shape, definitions)
    return {**DIALECT, **root, "$defs": dict(sorted(definitions.items()))}


def _object(shape: Shape, definitions: dict[str, JsonSchema]) -> JsonSchema:
    properties = {}
    for name, kind, required in shape.members:
        schema = _schema(kind, definitions)
        properties[name] = schema if required or not schema else _or_null(schema)
    return {
        "title": shape.record,
        "type": "object",
        "properties": properties,
        "required": [member.name for member in shape.members if member.required],
        **({} if shape.max_members is None else {"maxProperties": shape.max_members}),
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
            return {"type": "array", "items": _schema(item, definitions), "maxItems": MAX_ITEMS}
        case Numbers(value):
            values = _schema(value, definitions)
            return {"type": "object", "additionalProperties": values, "maxProperties": MAX_ITEMS}
        case OfSignal(base):
            return _schema(base, definitions)
        case Form(schema=more):
            return {"type": "string", **dict(more)}
        case Word(words):
            return {"type": "string", "enum": list(words)}
        case Open("any"):
            return {}
        case Open("list"):
            return {"type": "array", "items": _OBJECT, "maxItems": MAX_ITEMS}
        case Open():
            return dict(_OBJECT)
        case Flag():
            return {"type": "boolean"}
    return _simple(kind)


def _simple(kind: Text | Number | Integer) -> JsonSchema:
    if isinstance(kind, Text):
        schema: JsonSchema = {"type": "string", "maxLength": kind.max_length}
        return schema if kind.blank else {**schema, "pattern": _NOT_BLANK}
    if isinstance(kind, Integer):
        return {"type": "integer", "minimum": kind.low, "maximum": kind.high}
    bounds = {"minimum": kind.low, "maximum": kind.high}
    return {"type": "number", **{k: v for k, v in bounds.items() if v is not None}}


def avro_source(shape: Shape) -> str:
    """Return the text of the file in `avro/sap` that declares the record of an object."""
    return record_text(shape.record, NAMESPACE, shape.doc, list(_fields(shape)))


def _fields(shape: Shape) -> Iterator[JsonObject]:
    for name, kind, required in shape.members:
        field = name + ("_json" if isinstance(kind, Open) else "")
        avro = _avro_type(kind)
        yield {"name": field, "type": avro} if required else _nullable(field, avro)
    yield _nullable(EXTRA, "string") | {"doc": "members not named here, as canonical JSON"}


def _nullable(name: str, avro: Any) -> JsonObject:
    return {"name": name, "type": ["null", avro], "default": None}


def _avro_type(kind: Kind) -> Any:
    match kind:
        case Shape(record):
            return record
        case ListOf(item):
            return {"type": "array", "items": _avro_type(item)}
        case Numbers(value):
            return {"type": "map", "values": _avro_type(value)}
        case OfSignal(base):
            return _avro_type(base)
        case Flag():
            return "boolean"
        case Number():
            return "double"
        case Integer():
            return "int" if kind.high < 2**31 else "long"
    return "string"


def json_schemas() -> dict[str, str]:
    """Return the JSON Schema of each envelope, texts by their paths below `json/`."""
    return {
        f"sap/{name}.json": json.dumps(json_schema(shape), indent=2) + "\n"
        for name, shape in ENVELOPES.items()
    }


def avro_sources() -> dict[str, str]:
    """Return the record of each object, texts by their paths below `avro/`."""
    return {f"sap/{record}.avsc": avro_source(shape) for record, shape in SHAPES.items()}
