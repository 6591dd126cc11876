"""The whole document.  Source: AsyncAPI 3.0.0, and its Kafka bindings 0.5.0."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import orjson

from streams.api.asyncapi import headers, messages
from streams.api.asyncapi.messages import AVRO, BINDINGS, CORRELATION, TOMBSTONE, component
from streams.api.asyncapi.operations import actors, operations
from streams.api.asyncapi.words import sentence
from streams.ops.topics import config_of
from streams.settings.connection import ConnectionSettings
from topology import topics
from topology.declarations import Topic, TopicKind

Json = dict[str, Any]
_HIDDEN = (TopicKind.INTERNAL, TopicKind.CHANGELOG, TopicKind.DOOR)
PUBLIC = tuple(topic for topic in topics.ALL if topic.kind not in _HIDDEN)
_ABOUT = (
    "An event-sourced governance log for fleets of AI agents, on Kafka. Clients send commands;"
    " processors judge each of them exactly once, and write facts, inboxes and tables. An operation"
    " is told from the side of who does it, as its tag says: a processor, or `clients`. Values are"
    " Avro in Confluent's wire format; keys are UTF-8 text, and partition by murmur2 as Java's"
    " clients do. The verdict on a command lies where `reply` says, with the command's position in"
    " its header `headrace-cause`, unless the record could not be judged: then on the topic's"
    " `.dlq`. Internal topics are left out."
)
_KINDS = {
    TopicKind.COMMAND: "Written by clients; each record is owed one verdict.",
    TopicKind.COLLECTOR: "Written by clients, by processors, or by both.",
    TopicKind.FACT: "What was decided.",
    TopicKind.INBOX: "What an agent should read now.",
    TopicKind.AUDIT: "What operators' tools did or attest.",
    TopicKind.TABLE: "Compacted: the latest row of each key.",
    TopicKind.DEAD_LETTER: "What could not be judged.",
}
_SASL = {"PLAIN": "plain", "SCRAM-SHA-256": "scramSha256", "SCRAM-SHA-512": "scramSha512"}


def document(settings: ConnectionSettings) -> Json:
    """Return the document for one environment: its prefix, its broker and its registry."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "headrace",
            "version": version("headrace"),
            "description": _ABOUT,
            "license": {"name": "Apache-2.0"},
            "tags": actors(),
        },
        "defaultContentType": AVRO,
        "servers": _servers(settings),
        "channels": {topic.name: _channel(topic, settings) for topic in PUBLIC},
        "operations": operations(PUBLIC, settings),
        "components": {
            "messages": _messages(),
            "messageTraits": headers.traits(),
            "correlationIds": {
                CORRELATION: {
                    "description": "The position of the record that led to this one.",
                    "location": "$message.header#/headrace-cause",
                }
            },
            "schemas": messages.payloads(PUBLIC),
            "securitySchemes": {kind: {"type": kind} for kind in (*_SASL.values(), "X509")},
        },
    }


def text(settings: ConnectionSettings) -> bytes:
    return orjson.dumps(document(settings))


def _messages() -> Json:
    records: Json = {topic.name: messages.message(topic) for topic in PUBLIC}
    tombstones = {
        f"{t.name}.{TOMBSTONE}": messages.tombstone(t) for t in PUBLIC if messages.takes_null(t)
    }
    return {**records, **tombstones}


def _channel(topic: Topic, settings: ConnectionSettings) -> Json:
    name = topics.full_name(topic, settings.prefix)
    channel_messages = {messages.short(topic): component("messages", topic.name)}
    if messages.takes_null(topic):
        channel_messages[TOMBSTONE] = component("messages", f"{topic.name}.{TOMBSTONE}")
    return {
        "address": name,
        "title": topic.name,
        "summary": sentence(topic.meaning),
        "messages": channel_messages,
        "tags": [{"name": topic.kind.value, "description": _KINDS[topic.kind]}],
        "bindings": {
            "kafka": {
                "topic": name,
                "partitions": topics.partitions_of(topic, settings.partitions),
                "topicConfiguration": _configuration(config_of(topic, settings)),
                "bindingVersion": BINDINGS,
            }
        },
    }


def _configuration(config: dict[str, str]) -> Json:
    """Return the topic's configuration with numbers as numbers, and the policies as a list."""
    values: Json = {name: _number(value) for name, value in config.items()}
    return {**values, "cleanup.policy": config["cleanup.policy"].split(",")}


def _number(value: str) -> int | str:
    return int(value) if value.removeprefix("-").isdigit() else value


def _servers(settings: ConnectionSettings) -> Json:
    """Return one server for each address of the broker."""
    local = f"127.0.0.1:{settings.broker_port}"
    hosts = (settings.bootstrap or local).split(",")
    protocol = settings.security_protocol or "PLAINTEXT"
    server: Json = {
        "protocol": "kafka-secure" if protocol.endswith("SSL") else "kafka",
        "bindings": {
            "kafka": {
                "schemaRegistryUrl": _registry(settings),
                "schemaRegistryVendor": "confluent",
                "bindingVersion": BINDINGS,
            }
        },
    }
    if security := _security(settings, protocol):
        server["security"] = [component("securitySchemes", security)]
    names = ["kafka", *(f"kafka-{number}" for number in range(2, len(hosts) + 1))]
    return {name: {"host": host.strip(), **server} for name, host in zip(names, hosts, strict=True)}


def _security(settings: ConnectionSettings, protocol: str) -> str | None:
    if protocol.startswith("SASL"):
        return _SASL[settings.security_sasl_mechanism or "PLAIN"]
    return "X509" if protocol == "SSL" and settings.security_ssl_certificate_location else None


def _registry(settings: ConnectionSettings) -> str:
    """Return the registry's address without a password."""
    if settings.schema_registry_url is None:
        return f"http://{settings.gateway}"
    parts = urlsplit(settings.schema_registry_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
