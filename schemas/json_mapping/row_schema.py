"""The JSON Schemas of the JSON form (`json_form`) of records that the service writes."""

from __future__ import annotations

from typing import Any

from schemas.catalogue import CATALOGUE
from schemas.json_mapping.lookup import mapping_of
from schemas.json_mapping.mapping import EXTRA, JsonMapping
from schemas.sources import Schema

JsonSchema = dict[str, Any]
_NUMBER: JsonSchema = {
    "anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]
}
_PRIMITIVES: dict[str, JsonSchema] = {
    "string": {"type": "string"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "boolean": {"type": "boolean"},
    "int": {"type": "integer"},
    "long": {"type": "integer"},
    "double": _NUMBER,
}


def _type_members(name: str, fields: list[Schema], mapping: JsonMapping) -> dict[str, JsonSchema]:
    """Return the schemas of the members that name the record's type or the branch of its union."""
    members: dict[str, JsonSchema] = {}
    if name in mapping.tags:
        members["type"] = {"type": "string", "const": mapping.tags[name]}
    discriminator = mapping.discriminators.get(name)
    if discriminator and discriminator.member not in {field["name"] for field in fields}:
        members[discriminator.member] = {"type": "string", "enum": list(discriminator.records)}
    return members


class RowSchemas:
    """A collection of the schemas of records by full name; references start with `base`."""

    def __init__(self, base: str) -> None:
        self.found: dict[str, JsonSchema] = {}
        self._base = base
        self._named: dict[str, JsonSchema] = {}

    def add(self, record: str) -> JsonSchema:
        """Add the schema of a record, by its full Avro name, and return a reference to it."""
        if record not in self.found:
            self._type(CATALOGUE.latest(record).schema, False)
        return self._reference(record)

    def _reference(self, name: str) -> JsonSchema:
        return {"$ref": f"{self._base}{name}"}

    def _type(self, schema: Any, sparse: bool) -> JsonSchema:
        if isinstance(schema, list):
            return {"anyOf": [self._type(branch, sparse) for branch in schema]}
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._named[schema]
        match schema["type"]:
            case "record":
                return self._record(schema, sparse)
            case "enum":
                name = f"{schema['namespace']}.{schema['name']}"
                self._named[name] = {"type": "string", "enum": schema["symbols"]}
                return self._named[name]
            case "array":
                return {"type": "array", "items": self._type(schema["items"], sparse)}
            case "map":
                values = self._type(schema["values"], sparse)
                return {"type": "object", "additionalProperties": values}
        if "logicalType" in schema:
            return {"type": "string", "format": "date-time"}
        return _PRIMITIVES[schema["type"]]

    def _record(self, schema: Schema, sparse: bool) -> JsonSchema:
        name = f"{schema['namespace']}.{schema['name']}"
        self._named[name] = self._reference(name)
        mapping = mapping_of(name)
        sparse = sparse or name in mapping.sparse
        fields = [field for field in schema["fields"] if field["name"] != EXTRA]
        properties = _type_members(name, fields, mapping)
        required = list(properties)
        for field in fields:
            member, member_schema, always = self._member(name, field, sparse)
            properties[member] = member_schema
            required += [member] if always else []
        self.found[name] = {
            "title": schema["name"],
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": len(fields) < len(schema["fields"]),
        }
        return self._named[name]

    def _member(self, record: str, field: Schema, sparse: bool) -> tuple[str, JsonSchema, bool]:
        """Return the member's name, its schema, and whether it is required."""
        mapping = mapping_of(record)
        opened, schema = mapping.json_name(field["name"]), field["type"]
        nullable = isinstance(schema, list) and schema[0] == "null"
        member_schema = self._type(schema[1] if nullable and len(schema) == 2 else schema, sparse)
        if opened:
            member_schema = {}
        if nullable and not sparse and field["name"] not in mapping.filled.get(record, ()):
            member_schema = {"anyOf": [member_schema, {"type": "null"}]} if member_schema else {}
        return opened or field["name"], member_schema, not (nullable and sparse)
