"""JSON Schemas of the arguments and results of tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

OBJECT: Json = {"type": "object"}
ANY: Json = {}
TEXT: Json = {"type": "string"}
TEXT_OR_NULL: Json = {"type": ["string", "null"]}
NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}
FLAG_OR_NULL: Json = {"type": ["boolean", "null"]}
OBJECT_OR_NULL: Json = {"type": ["object", "null"]}
OBJECTS: Json = {"type": "array", "items": OBJECT}
NODE: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1024,
    "description": "A kind and an id, such as apc:packet:<packet_id>, sap:task:<taskId>,"
    " asap:task:<task_id>, summit:run:<runId>, saop:session:<session_id>.",
}
POSITION: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": 512,
    "description": "topic/partition/offset, such as apc.packets/0/17.",
}
AFTER: Json = {**POSITION, "description": "Answer once what was sent at this position is decided."}
AS_OF: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": 512,
    "description": "A past moment: a time of ISO 8601, or a position on the log.",
}


def described(schema: Json, description: str, **more: Any) -> Json:
    return {**schema, "description": description, **more}


def closed(members: Json, optional: tuple[str, ...] = ()) -> Json:
    """Return the schema of an object without other members; those with a default are optional."""
    required = [
        name for name, schema in members.items() if name not in optional and "default" not in schema
    ]
    schema: Json = {"type": "object", "properties": members, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


REFUSAL: Json = {
    "type": "object",
    "properties": {"rule": TEXT_OR_NULL, "detail": TEXT_OR_NULL},
    "required": ["rule", "detail"],
}
"""What a refused call answers, whatever the tool."""
_LOCAL = "#/$defs/"


def or_refusal(schema: Json) -> Json | None:
    """Return the schema of results that may be refusals too, for clients check these as well.

    None if the schema refers to a part of itself that would then be elsewhere.
    """
    if any(not reference.startswith(_LOCAL) for reference in _references(schema)):
        return None
    first = {name: value for name, value in schema.items() if name not in ("$defs", "$schema")}
    whole: Json = {"type": "object", "anyOf": [first, REFUSAL]}
    return {**whole, "$defs": schema["$defs"]} if "$defs" in schema else whole


def _references(schema: Any) -> Iterator[str]:
    """Yield the references in a schema."""
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


VERDICT_MEMBERS: Json = {
    "verdict": TEXT_OR_NULL,
    "rule": TEXT_OR_NULL,
    "rule_meaning": TEXT_OR_NULL,
    "fault": TEXT_OR_NULL,
}
SENT: Json = closed(
    {
        "position": TEXT_OR_NULL,
        **VERDICT_MEMBERS,
        "detail": TEXT_OR_NULL,
        "errors": OBJECTS,
        "fact": OBJECT_OR_NULL,
        "node": TEXT_OR_NULL,
        "state": TEXT_OR_NULL,
        "ended": FLAG_OR_NULL,
        "outcome": OBJECT_OR_NULL,
        "path": TEXT_OR_NULL,
        "status": NUMBER_OR_NULL,
    },
    optional=("path", "status"),
)
EXPLAINED: Json = closed(
    {
        "command": OBJECT_OR_NULL,
        **VERDICT_MEMBERS,
        "detail": TEXT_OR_NULL,
        "figures": OBJECT,
        "checks": OBJECTS,
        "errors": OBJECTS,
        "node": TEXT_OR_NULL,
        "cause": TEXT_OR_NULL,
        "facts": OBJECTS,
        "rederived": OBJECT_OR_NULL,
    }
)
RECEIPT: Json = closed(
    {
        "position": TEXT,
        "at": TEXT,
        "key": TEXT_OR_NULL,
        "value_sha256": TEXT_OR_NULL,
        "verdict": OBJECT_OR_NULL,
        "rederived": OBJECT_OR_NULL,
        "sealed": OBJECT_OR_NULL,
        "receipt": TEXT_OR_NULL,
        "proof": TEXT_OR_NULL,
    }
)
STATE: Json = closed({"node": TEXT, "as_of": TEXT_OR_NULL, "state": OBJECT})
