"""Operations: which processor, and which client, sends and receives what."""

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
    """By `<who>.<action>.<topic>`; who: a processor's name, `clients` or `operators`."""
    found: Json = {}
    for processor in processors.ALL:
        group = {"groupId": {"type": "string", "const": group_of(settings)}}
        for topic in processor.inputs:
            if topic in topics:
                found.update(_operation(processor.name, RECEIVE, topic, group))
        for topic in processor.outputs:
            if topic in topics:
                found.update(_operation(processor.name, SEND, topic))
    for who, action, topic in _of_others(topics):
        found.update(_operation(who, action, topic))
    return found


def actors() -> list[Json]:
    """The tags of operations."""
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


def _operation(who: str, action: str, topic: Topic, binding: Json | None = None) -> Json:
    found: Json = {
        "action": action,
        "channel": channel(topic),
        "summary": sentence(topic.meaning),
        "tags": [{"name": who}],
    }
    if binding is not None:
        found["bindings"] = {"kafka": {**binding, "bindingVersion": BINDINGS}}
    verdicts = VERDICTS.get(topic, ())
    if who == CLIENTS and action == SEND and len(verdicts) == 1:
        found["reply"] = {"channel": channel(verdicts[0])}
    return {f"{who}.{action}.{topic.name}": found}
