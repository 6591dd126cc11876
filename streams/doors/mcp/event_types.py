"""The types of events: which records each is made of, and what it shows of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas import Undecodable
from streams.access.callers import Caller, Role
from streams.doors.mcp import schemas as s
from streams.doors.mcp.results import Json, refused
from streams.engine.records import Record
from streams.log.dead_letters import letter_json
from streams.log.filters import Filters
from streams.log.record_json import key_text, value_json
from streams.log.records import is_hidden
from streams.protocols.queries import LIVE_TAIL, QUERIES
from streams.view_store.service_rows import FACTS
from streams.views.changes import WriteBatch
from streams.views.reads import ReadOnlyStore
from streams.views.service.verdicts import VERDICTS, FactReading, judgement_of
from topology import topics
from topology.declarations import Topic, TopicKind

Arguments = Mapping[str, Any]
MOST_BYTES = 200 * 1024
"""A larger value is left out of an event."""
PROTOCOLS = tuple(side.name for side in QUERIES)
SHOWN = {topic.name: topic for topic in topics.ALL if not is_hidden(topic)}
_FACTS = {name: each for name, each in SHOWN.items() if each.kind is TopicKind.FACT}
_DEAD = {name: each for name, each in SHOWN.items() if each.kind is TopicKind.DEAD_LETTER}
_INBOXES = {
    name.partition(".")[0]: topic for name, topic in SHOWN.items() if topic.kind is TopicKind.INBOX
}
"""The topic of messages to agents, by protocol."""
_IS_SHARED = {
    side.name: side.is_shared_message for side in QUERIES if side.is_shared_message is not None
}
_SHARED_ONLY = "shared only"
"""An argument that no client can give: says which messages are not for one agent."""


@dataclass(frozen=True)
class EventType:
    """A type.  takes: the JSON Schema of its arguments.

    rests_on: returns the topics for valid arguments.  show: returns the data of the event for a
    record of one of them, None if it does not match; takes the record's position without prefix.
    """

    name: str
    role: Role
    description: str
    takes: Json
    rests_on: Callable[[Arguments], Sequence[Topic]]
    show: Callable[[Topic, Record, str, Arguments, ReadOnlyStore], Json | None]

    def is_for(self, caller: Caller | None) -> bool:
        return caller is None or caller.has((self.role,))


def _value(topic: Topic, record: Record) -> Json:
    """Return the value of a record, or that it is too large to be shown."""
    if len(record.value or b"") > MOST_BYTES:
        return {"value": None, "omitted": "too_large"}
    return {"value": value_json(topic, record)}


def _place(topic: Topic, record: Record, place: str) -> Json:
    return {"topic": topic.name, "position": place, "key": key_text(record)}


def _short(position: str | None, topic: Topic, record: Record) -> str | None:
    """Return a position without the prefix that the record's topic has."""
    prefix = record.topic.removesuffix(topic.name)
    return None if position is None else position.removeprefix(prefix)


def _resource(place: str) -> Json:
    return {"resource": f"headrace://record/{place}"}


def _show_fact(
    topic: Topic, record: Record, place: str, arguments: Arguments, view: ReadOnlyStore
) -> Json | None:
    if arguments.get("key") not in (None, key_text(record)):
        return None
    return {**_place(topic, record, place), **_value(topic, record), **_resource(place)}


def _show_rtes(
    topic: Topic, record: Record, place: str, arguments: Arguments, view: ReadOnlyStore
) -> Json | None:
    names = ("session_id", "type", "task_id")
    filters = Filters(*(arguments.get(name) for name in names))
    if not filters.fit(record, value_json(topic, record)):
        return None
    return {**_value(topic, record), **_resource(place)}


def _verdict_topics(arguments: Arguments) -> Sequence[Topic]:
    protocol = arguments.get("protocol")
    return [
        topics.BY_NAME[name]
        for name, facts in FACTS.items()
        if isinstance(facts.reading, FactReading) and protocol in (None, facts.protocol)
    ]


def _show_verdict(
    topic: Topic, record: Record, place: str, arguments: Arguments, view: ReadOnlyStore
) -> Json | None:
    protocol, reading = FACTS[topic.name]
    assert isinstance(reading, FactReading), "only facts are followed"
    try:
        members = reading.projection.of(record.value)
    except Undecodable:  # a record that no processor wrote, or that is corrupt
        return None
    counted = reading.count(record, members, WriteBatch(view))
    if counted is None or counted.verdict not in VERDICTS:
        return None
    judgement = judgement_of(protocol, topic.name, reading, record, members, counted)
    names = ("protocol", "verdict", "rule", "principal")
    if any(arguments.get(name) not in (None, getattr(judgement, name)) for name in names):
        return None
    data = {name: getattr(judgement, name) for name in (*names, "cause", "node", "fault")}
    data["cause"] = _short(judgement.cause, topic, record)
    return {**data, "position": place, **_resource(place)}


def _show_message(
    topic: Topic, record: Record, place: str, arguments: Arguments, view: ReadOnlyStore
) -> Json | None:
    if key_text(record) != arguments["agent"]:
        return None
    if _SHARED_ONLY in arguments and not arguments[_SHARED_ONLY](value_json(topic, record)):
        return None
    return {**_place(topic, record, place), **_value(topic, record), "resource": None}


def _show_dead(
    topic: Topic, record: Record, place: str, arguments: Arguments, view: ReadOnlyStore
) -> Json | None:
    letter = letter_json(topic, record)
    source = _short(letter["source"], topic, record)
    members = {"source": source, "code": letter["code"]}
    return {"topic": topic.name, "position": place, **members, "resource": None}


def for_caller(kind: EventType, arguments: Arguments, caller: Caller | None) -> Arguments:
    """Return the arguments, narrowed to the messages that the caller may have.

    Of a protocol whose messages may be for a capability, everybody may have those.  Raises
    ToolRefused for messages of another agent than the caller.
    """
    agent = arguments.get("agent")
    if agent is None or caller is None or caller.is_operator or agent == caller.principal:
        return arguments
    is_shared = _IS_SHARED.get(arguments["protocol"])
    if is_shared is not None:
        return {**arguments, _SHARED_ONLY: is_shared}
    detail = f"the token of {caller.principal} does not read the messages of {agent}"
    raise refused(403, detail, "event_forbidden", "/arguments/agent")


_OPTIONAL_TEXT = {"type": "string", "minLength": 1, "maxLength": 512}
TYPES: tuple[EventType, ...] = (
    EventType(
        "rtes.event",
        Role.READER,
        "One per recorded event of RTES: thoughts, tool calls and states of agents.",
        s.closed(
            dict.fromkeys(("session_id", "type", "task_id"), _OPTIONAL_TEXT),
            optional=("session_id", "type", "task_id"),
        ),
        lambda arguments: (LIVE_TAIL.topic,),
        _show_rtes,
    ),
    EventType(
        "fact",
        Role.READER,
        "One per record of a topic of facts.",
        s.closed({"topic": {"enum": list(_FACTS)}, "key": _OPTIONAL_TEXT}, optional=("key",)),
        lambda arguments: (_FACTS[arguments["topic"]],),
        _show_fact,
    ),
    EventType(
        "verdict",
        Role.READER,
        "One per verdict on what clients sent.",
        s.closed(
            {
                "protocol": {"enum": list(PROTOCOLS)},
                "verdict": {"enum": list(VERDICTS)},
                "rule": _OPTIONAL_TEXT,
                "principal": _OPTIONAL_TEXT,
            },
            optional=("protocol", "verdict", "rule", "principal"),
        ),
        _verdict_topics,
        _show_verdict,
    ),
    EventType(
        "inbox",
        Role.PRODUCER,
        "One per message to an agent.",
        s.closed({"protocol": {"enum": sorted(_INBOXES)}, "agent": _OPTIONAL_TEXT}),
        lambda arguments: (_INBOXES[arguments["protocol"]],),
        _show_message,
    ),
    EventType(
        "dead_letter",
        Role.OPERATOR,
        "One per record that could not be decided.",
        s.closed({"topic": {"enum": sorted(_DEAD)}}, optional=("topic",)),
        lambda arguments: (
            [_DEAD[arguments["topic"]]] if "topic" in arguments else [*_DEAD.values()]
        ),
        _show_dead,
    ),
)
BY_NAME: Mapping[str, EventType] = {each.name: each for each in TYPES}
