"""JSON Schemas of the JSON form (`schemas.json_form`) of records that the service writes."""

from __future__ import annotations

from typing import Any

from schemas.branches import ASAP_ENVELOPE, ASAP_PAYLOADS, EXTRA, TAGS, json_name
from schemas.catalogue import CATALOGUE
from schemas.json_form import PROTOCOL
from schemas.sources import Schema

JsonSchema = dict[str, Any]
_NUMBER: JsonSchema = {
    "anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]
}
_PRIMITIVES: dict[str, JsonSchema] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int": {"type": "integer"},
    "long": {"type": "integer"},
    "double": _NUMBER,
}
_FILLED = {"headrace.apc.Transition": ("at", "cause")}
"""Members that are null in Avro only, where they repeat what stands above them."""


class RowSchemas:
    """Collects the schemas of records under their full names, each reference under `base`."""

    def __init__(self, base: str) -> None:
        self.found: dict[str, JsonSchema] = {}
        self._base = base
        self._named: dict[str, JsonSchema] = {}

    def add(self, record: str) -> JsonSchema:
        """A reference to the schema of a record, by its full Avro name."""
        if record not in self.found:
            self._type(CATALOGUE.latest(record).schema, False)
        return self._reference(record)

    def _reference(self, name: str) -> JsonSchema:
        return {"$ref": f"{self._base}{name}"}

    def _type(self, schema: Any, protocol: bool) -> JsonSchema:
        if isinstance(schema, list):
            return {"anyOf": [self._type(branch, protocol) for branch in schema]}
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._named[schema]
        match schema["type"]:
            case "record":
                return self._record(schema, protocol)
            case "enum":
                name = f"{schema['namespace']}.{schema['name']}"
                self._named[name] = {"type": "string", "enum": schema["symbols"]}
                return self._named[name]
            case "array":
                return {"type": "array", "items": self._type(schema["items"], protocol)}
            case "map":
                values = self._type(schema["values"], protocol)
                return {"type": "object", "additionalProperties": values}
        if "logicalType" in schema:
            return {"type": "string", "format": "date-time"}
        return _PRIMITIVES[schema["type"]]

    def _record(self, schema: Schema, protocol: bool) -> JsonSchema:
        name = f"{schema['namespace']}.{schema['name']}"
        self._named[name] = self._reference(name)
        protocol = protocol or name in PROTOCOL
        properties: dict[str, JsonSchema] = {}
        required: list[str] = []
        if name in TAGS:
            properties["type"] = {"type": "string", "const": TAGS[name]}
            required.append("type")
        if name == ASAP_ENVELOPE:
            properties["payload_type"] = {"type": "string", "enum": list(ASAP_PAYLOADS)}
            required.append("payload_type")
        fields = [field for field in schema["fields"] if field["name"] != EXTRA]
        for field in fields:
            member, shown, always = self._member(name, field, protocol)
            properties[member] = shown
            required += [member] if always else []
        self.found[name] = {
            "title": schema["name"],
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": len(fields) < len(schema["fields"]),
        }
        return self._named[name]

    def _member(self, record: str, field: Schema, protocol: bool) -> tuple[str, JsonSchema, bool]:
        """The member's name, its schema, and whether it is always there."""
        opened, schema = json_name(field["name"]), field["type"]
        nullable = isinstance(schema, list) and schema[0] == "null"
        shown = self._type(schema[1] if nullable and len(schema) == 2 else schema, protocol)
        if opened:
            shown = {}
        if nullable and not protocol and field["name"] not in _FILLED.get(record, ()):
            shown = {"anyOf": [shown, {"type": "null"}]} if shown else {}
        return opened or field["name"], shown, not (nullable and protocol)
