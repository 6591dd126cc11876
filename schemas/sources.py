"""The committed Avro sources, `avro/<protocol>/<Name>.avsc`, and their self-contained form.

A file defines one named type; types of one file may be defined inside it, others are referred to
by name.  The self-contained form of a record spells each type out where it is first used.  A union
that is declared in code (`Spec.unions`) is referred to by its name too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]
Unions = Mapping[str, tuple[str, ...]]

_NO_UNIONS: Unions = {}

_NAMED = ("record", "enum", "fixed")
_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


def full_name(name: str, namespace: str) -> str:
    return name if "." in name else f"{namespace}.{name}"


@cache
def definitions() -> dict[str, tuple[Schema, str]]:
    """Return every named type by full name: its definition, and the namespace its names resolve
    in.
    """
    types: dict[str, tuple[Schema, str]] = {}
    for folder in sorted(files("schemas").joinpath("avro").iterdir(), key=lambda p: p.name):
        for file in sorted(folder.iterdir(), key=lambda p: p.name):
            schema = json.loads(file.read_text("utf-8"))
            _collect(schema, schema["namespace"], types)
    return types


def _collect(schema: Any, namespace: str, types: dict[str, tuple[Schema, str]]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, namespace, types)
    elif isinstance(schema, dict):
        if schema["type"] in _NAMED:
            name = full_name(schema["name"], namespace)
            if name in types:
                raise ValueError(f"{name} is defined twice")
            types[name] = (schema, namespace)
        for field in schema.get("fields", ()):
            _collect(field["type"], namespace, types)
        for inner in ("items", "values"):
            if inner in schema:
                _collect(schema[inner], namespace, types)


def self_contained(record: str, unions: Unions = _NO_UNIONS) -> Schema:
    """Return the schema of a record with all types it refers to, without documentation.

    unions: the records of each union that the sources name, by that name.
    """
    expanded: Schema = _Expansion(unions).expand(record, "")
    return expanded


class _Expansion:
    """Spells types out, each where it is first used."""

    def __init__(self, unions: Unions) -> None:
        self._unions = unions
        self._seen: set[str] = set()

    def expand(self, schema: Any, namespace: str) -> Any:
        if isinstance(schema, list):
            return [self.expand(branch, namespace) for branch in schema]
        if isinstance(schema, str):
            return schema if schema in _PRIMITIVE else self._named(full_name(schema, namespace))
        kind = schema["type"]
        if kind == "array":
            return {"type": "array", "items": self.expand(schema["items"], namespace)}
        if kind == "map":
            return {"type": "map", "values": self.expand(schema["values"], namespace)}
        if kind not in _NAMED:
            return dict(schema)
        name = full_name(schema["name"], namespace)
        if name in self._seen:
            return name
        self._seen.add(name)
        space, _, short = name.rpartition(".")
        result = {"type": kind, "name": short, "namespace": space}
        if kind == "enum":
            return {**result, "symbols": list(schema["symbols"])}
        return {**result, "fields": [self._field(field, namespace) for field in schema["fields"]]}

    def _named(self, name: str) -> Any:
        if name in self._unions:
            return [self.expand(record, "") for record in self._unions[name]]
        definition, inner = definitions()[name]
        return name if name in self._seen else self.expand(definition, inner)

    def _field(self, field: Schema, namespace: str) -> Schema:
        expanded = {"name": field["name"], "type": self.expand(field["type"], namespace)}
        return {**expanded, "default": field["default"]} if "default" in field else expanded


def documented(schema: Any) -> Any:
    """Return a self-contained schema with the documentation of its sources."""
    if isinstance(schema, list):
        return [documented(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: documented(schema[name]) for name in schema if name != "fields"}
    if schema["type"] not in _NAMED:
        return result
    source, _ = definitions()[full_name(schema["name"], schema["namespace"])]
    docs = {field["name"]: field for field in source.get("fields", ())}
    if "fields" in schema:
        result["fields"] = [
            {**field, "type": documented(field["type"]), **_doc(docs[field["name"]])}
            for field in schema["fields"]
        ]
    return {**result, **_doc(source)}


def _doc(definition: Schema) -> Schema:
    return {"doc": definition["doc"]} if "doc" in definition else {}


def record_text(name: str, namespace: str, doc: str, fields: Sequence[Schema]) -> str:
    """Return the text of the source that defines a record."""
    lines = ",\n".join(f"    {json.dumps(field)}" for field in fields)
    return _source_text("record", name, namespace, doc, f'"fields": [\n{lines}\n  ]')


def enum_text(name: str, namespace: str, doc: str, symbols: Sequence[str]) -> str:
    """Return the text of the source that defines an enum."""
    return _source_text("enum", name, namespace, doc, f'"symbols": {json.dumps(symbols)}')


def _source_text(kind: str, name: str, namespace: str, doc: str, content: str) -> str:
    head = {"type": kind, "name": name, "namespace": namespace, "doc": doc}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()]
    return f"{{\n{''.join(lines)}  {content}\n}}\n"
