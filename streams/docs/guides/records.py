"""Tables of the fields of records that the service writes, from the Avro schemas."""

from __future__ import annotations

from typing import Any

from schemas.sources import definitions
from streams.docs.guides.objects import meaning_of, spec_of
from streams.docs.markdown import code, codes, grid

_INSTANT = "timestamp-millis"


def record_section(protocol: str, name: str) -> str:
    """Return the members of a record as its JSON has them.  name: without the namespace."""
    schema = _definition(protocol, name)
    mapping = spec_of(protocol).mapping
    rows = []
    for field in schema["fields"]:
        member = mapping.json_name(field["name"])
        kind = "JSON" if member else _type(field["type"])
        null = isinstance(field["type"], list) and "null" in field["type"]
        member = member or field["name"]
        rows.append(
            (code(member), f"{kind} or null" if null else kind, meaning_of(protocol, name, member))
        )
    return grid(("member", "type", "meaning"), rows)


def _definition(protocol: str, name: str) -> dict[str, Any]:
    """Return the definition of a record; one defined inside another record counts too."""
    namespaces = spec_of(protocol).mapping.namespaces
    return next(
        definition
        for full_name, (definition, _) in definitions().items()
        if full_name in {f"{namespace}.{name}" for namespace in namespaces}
    )


def _type(schema: Any) -> str:
    if isinstance(schema, list):
        return " or ".join(_type(each) for each in schema if each != "null")
    if isinstance(schema, str):
        named = "." in schema or schema[0].isupper()
        return code(schema.rpartition(".")[2]) if named else _plain(schema)
    match schema["type"]:
        case "array":
            return f"list of {_type(schema['items'])}"
        case "map":
            return f"object of {_type(schema['values'])}"
        case "record":
            return code(schema["name"])
        case "enum":
            return codes(schema["symbols"])
    return "time" if schema.get("logicalType") == _INSTANT else _plain(schema["type"])


def _plain(name: str) -> str:
    integers = {"int": "integer", "long": "integer", "double": "number", "float": "number"}
    return integers.get(name, name)
