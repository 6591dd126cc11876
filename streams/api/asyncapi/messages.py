"""The messages of each topic, with key, headers and value."""

from __future__ import annotations

from typing import Any

from schemas import CATALOGUE
from schemas.sources import definitions, documented
from streams.api.asyncapi import headers
from topology.core import CAUSE
from topology.declarations import Topic, TopicKind
from topology.headers import headers_of

Json = dict[str, Any]
BINDINGS = "0.5.0"
"""The version of all Kafka bindings."""
AVRO = "application/vnd.apache.avro"
AVRO_FORMAT = f"{AVRO};version=1.9.0"
CORRELATION = "cause"
TOMBSTONE = "tombstone"


def component(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def takes_null(topic: Topic) -> bool:
    """Return whether the topic may hold records without a value."""
    return topic.nullable or topic.kind is TopicKind.TABLE


def message(topic: Topic) -> Json:
    """Return the message for a record with a value."""
    result: Json = {
        "name": topic.record or topic.name,
        "title": short(topic),
        "summary": _summary(topic),
        "contentType": AVRO if topic.record else "application/octet-stream",
        "headers": headers.of(topic),
        "payload": component("schemas", topic.record or "bytes"),
        "bindings": {"kafka": _binding(topic)},
    }
    if CAUSE in headers_of(topic):
        result["correlationId"] = component("correlationIds", CORRELATION)
    if topic.carries_cloudevents:
        result["traits"] = [component("messageTraits", headers.TRAIT)]
    return result


def tombstone(topic: Topic) -> Json:
    """Return the message for a record without a value."""
    summary = (
        "The row is gone." if topic.kind is TopicKind.TABLE else "What the key names is withdrawn."
    )
    return {
        "name": TOMBSTONE,
        "title": "Tombstone",
        "summary": summary,
        "headers": headers.of(topic),
        "payload": {"type": "null"},
        "bindings": {"kafka": {"key": _key(topic), "bindingVersion": BINDINGS}},
    }


def payloads(topics: tuple[Topic, ...]) -> Json:
    """Return the component of schemas: each record in Avro, self-contained."""
    records = dict.fromkeys(topic.record for topic in topics if topic.record)
    avro = {
        record: {
            "schemaFormat": AVRO_FORMAT,
            "schema": documented(CATALOGUE.latest(record).schema),
        }
        for record in records
    }
    raw_description = "What was sent, whatever it is; masked text where it may hold secrets."
    return {**avro, "bytes": {"type": "string", "format": "binary", "description": raw_description}}


def short(topic: Topic) -> str:
    """Return the name of the topic's message that has a value."""
    return (topic.record or "DeadLetter").rpartition(".")[2]


def _summary(topic: Topic) -> str:
    if topic.record is None:
        return "A record that could not be judged."
    return str(definitions()[topic.record][0].get("doc", short(topic)))


def _key(topic: Topic) -> Json:
    return {"type": "string", "description": topic.key}


def _binding(topic: Topic) -> Json:
    key = {"key": _key(topic), "bindingVersion": BINDINGS}
    if topic.record is None:
        return key
    return {
        "key": _key(topic),
        "schemaIdLocation": "payload",
        "schemaIdPayloadEncoding": "confluent",
        "schemaLookupStrategy": "TopicNameStrategy",
        "bindingVersion": BINDINGS,
    }
