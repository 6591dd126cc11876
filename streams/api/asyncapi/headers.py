"""JSON Schemas of record headers, whose values are text unless declared otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams.api.asyncapi.words import sentence
from topology import processors
from topology.declarations import Header, Topic
from topology.headers import CLOUDEVENTS, headers_of

Json = dict[str, Any]
TRAIT = "cloudEvents"
"""The message trait that facts and inbox records have."""


def of(topic: Topic) -> Json:
    """Return the headers of the topic's records without those that the CloudEvents trait has."""
    schema = _schema(header for header in headers_of(topic) if header not in CLOUDEVENTS)
    if topic.carries_cloudevents:
        writers = [f"/headrace/{writer.name}" for writer in processors.writers_of(topic)]
        schema["properties"]["ce_type"] = {"const": topic.record}
        if writers:
            schema["properties"]["ce_source"] = {"enum": writers}
    return schema


def traits() -> Json:
    """Return the component of message traits."""
    about = "CloudEvents 1.0 in binary mode."
    return {TRAIT: {"description": about, "headers": _schema(CLOUDEVENTS)}}


def _schema(headers: Iterable[Header]) -> Json:
    declared = list(headers)
    schema: Json = {
        "type": "object",
        "properties": {header.name: _value(header) for header in declared},
    }
    required = [header.name for header in declared if not header.optional]
    return {**schema, "required": required} if required else schema


def _value(header: Header) -> Json:
    kind = {"type": "string", "format": "binary"} if header.binary else {"type": "string"}
    return {
        **kind,
        "description": sentence(header.meaning),
        **header.schema,
    }
