"""The operations: which processors and clients send to and receive from each topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.api.asyncapi.messages import BINDINGS
from streams.api.asyncapi.words import sentence
from streams.engine.task import group_of
from streams.settings.service import ServiceSettings
from topology import processors
from topology.declarations import Topic, TopicKind
from topology.verdicts import VERDICTS

Json = dict[str, Any]
CLIENTS, OPERATORS = "clients", "operators"
SEND, RECEIVE = "send", "receive"


def operations(topics: tuple[Topic, ...], settings: ServiceSettings) -> Json:
    """Return operations by `<actor>.<action>.<topic>`; a processor, `clients` or `operators`."""
    result: Json = {}
    for processor in processors.ALL:
        group = {"groupId": {"type": "string", "const": group_of(settings)}}
        for topic in processor.inputs:
            if topic in topics:
                result.update(_operation(processor.name, RECEIVE, topic, group))
        for topic in processor.outputs:
            if topic in topics:
                result.update(_operation(processor.name, SEND, topic))
    for actor, action, topic in _of_others(topics):
        result.update(_operation(actor, action, topic))
    return result


def actors() -> list[Json]:
    """Return the tags of operations."""
    others = {
        CLIENTS: "Agents, users and operators, and whoever follows what is decided.",
        OPERATORS: "Tools of operators, which leave a trace of what they did.",
    }
    about = {processor.name: f"It {processor.meaning}." for processor in processors.ALL}
    return [{"name": n, "description": text} for n, text in {**about, **others}.items()]


def channel(topic: Topic) -> Json:
    return {"$ref": f"#/channels/{topic.name}"}


def _of_others(topics: tuple[Topic, ...]) -> Iterator[tuple[str, str, Topic]]:
    for topic in topics:
        if processors.written_by_clients(topic):
            yield CLIENTS, SEND, topic
            continue
        if topic.kind is TopicKind.AUDIT:
            yield OPERATORS, SEND, topic
        yield CLIENTS, RECEIVE, topic


def _operation(actor: str, action: str, topic: Topic, binding: Json | None = None) -> Json:
    operation: Json = {
        "action": action,
        "channel": channel(topic),
        "summary": sentence(topic.meaning),
        "tags": [{"name": actor}],
    }
    if binding is not None:
        operation["bindings"] = {"kafka": {**binding, "bindingVersion": BINDINGS}}
    verdicts = VERDICTS.get(topic, ())
    if actor == CLIENTS and action == SEND and len(verdicts) == 1:
        operation["reply"] = {"channel": channel(verdicts[0])}
    return {f"{actor}.{action}.{topic.name}": operation}
