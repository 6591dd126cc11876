"""The models of RTES events, for people and programs that make them (SAOP guide, 2.2).

`EVENT_TYPES` lists the types of events.  A new type is a model and an entry here, an Avro record
`schemas/avro/rtes/<Model>.avsc`, and an entry in `streams.protocols.saop.rtes.event_handlers`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict, WithJsonSchema

from schemas.formats import is_rfc_uuid, is_saop_time
from schemas.members import (
    AGENT,
    TIME,
    Member,
    choice_check,
    id_check,
    is_flag,
    is_id,
    is_open_object,
    is_text,
    is_text_list,
    is_turn_index,
    number_checks,
)
from schemas.model import Flag, Natural, OpenObject, ShortText, Text
from schemas.parsing import ParsedModel
from schemas.problems import Problem
from schemas.rtes.event_type import NAMESPACE, EventPayload, EventType

AgentId = Literal["researcher", "architect", "developer", "reviewer"]
ToolStatus = Literal["success", "failure", "timeout"]
Origin = Literal["apc", "asap", "sap", "summit", "saop", "otel"]

OTEL: Origin = "otel"
"""The origin of events made of OpenTelemetry's spans, whose agents may have any name."""
OTHER_AGENT = "other"
"""The agent_id of an agent that is none of SAOP's four; `agent` has its name."""

MAX_CALL_ID = 1024
"""Maximum characters of a call_id, for Summit joins the ids of a run and of its call, escaped."""

_HEX = "[0-9a-fA-F]"
_UUID_PATTERN = (
    f"^({_HEX}{{8}}-{_HEX}{{4}}-[1-8]{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}"
    "|00000000-0000-0000-0000-000000000000)$"
)
_TIME_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$"


def _uuid(text: str) -> str:
    if not is_rfc_uuid(text):
        raise ValueError("must be a UUID")
    return text


def _time(text: str) -> str:
    if not is_saop_time(text):
        raise ValueError("must be a UTC date-time")
    return text


EventId = Annotated[
    str,
    Strict(),
    AfterValidator(_uuid),
    WithJsonSchema({"type": "string", "pattern": _UUID_PATTERN}),
]
Timestamp = Annotated[
    str,
    Strict(),
    AfterValidator(_time),
    WithJsonSchema({"type": "string", "pattern": _TIME_PATTERN}),
]


CallId = Annotated[str, Strict(), Field(max_length=MAX_CALL_ID)]


class ThoughtStream(EventPayload):
    type: Literal["THOUGHT_STREAM"]
    agent_id: AgentId
    turn_index: Natural
    chunk: Text
    is_final: Flag
    agent: Text | None = None


class ToolInvoked(EventPayload):
    type: Literal["TOOL_LIFECYCLE_INVOKED"]
    call_id: CallId
    tool: Text
    arguments: OpenObject
    timestamp: Timestamp


class ToolCompleted(EventPayload):
    type: Literal["TOOL_LIFECYCLE_COMPLETED"]
    call_id: CallId
    tool: Text
    status: ToolStatus
    duration_ms: Annotated[float, Strict(), Field(ge=0)]
    timestamp: Timestamp


class TaskTransition(EventPayload):
    type: Literal["TASK_TRANSITION"]
    task_id: ShortText
    from_state: ShortText
    to_state: ShortText
    git_hash: ShortText | None = None
    timestamp: Timestamp


class SandboxPulse(EventPayload):
    type: Literal["SANDBOX_PULSE"]
    line: Text
    masked: Flag
    timestamp: Timestamp


class EscalationRaised(EventPayload):
    """Made by the service only: a detector found an agent or a task that needs attention."""

    type: Literal["ESCALATION_RAISED"]
    task_id: ShortText
    agent_id: AgentId | None = None
    turn_index: Natural | None = None
    detector: Text
    rules: list[Text]
    outcome: Text
    figures: OpenObject
    timestamp: Timestamp


_is_call_id = id_check(MAX_CALL_ID)
_STATUS = choice_check("status_unknown", ("success", "failure", "timeout"))
_DURATION, _AVRO_DURATION = number_checks(
    "duration_invalid", "a finite number, not below 0", lambda number: number >= 0
)
_TIME = Member("timestamp", TIME)


def event_type(model: type[EventPayload], *members: Member) -> EventType:
    """Declare a type; non-finite durations are words in the JSON form of an Avro record."""
    return EventType(model, members, {_DURATION: _AVRO_DURATION})


EVENT_TYPES = (
    event_type(
        ThoughtStream,
        Member("agent_id", AGENT),
        Member("turn_index", is_turn_index),
        Member("chunk", is_text),
        Member("is_final", is_flag),
        Member("agent", is_text, required=False, nullable=True),
    ),
    event_type(
        ToolInvoked,
        Member("call_id", _is_call_id),
        Member("tool", is_text),
        Member("arguments", is_open_object),
        _TIME,
    ),
    event_type(
        ToolCompleted,
        Member("call_id", _is_call_id),
        Member("tool", is_text),
        Member("status", _STATUS),
        Member("duration_ms", _DURATION),
        _TIME,
    ),
    event_type(
        TaskTransition,
        Member("task_id", is_id),
        Member("from_state", is_id),
        Member("to_state", is_id),
        Member("git_hash", is_id, required=False),
        _TIME,
    ),
    event_type(
        SandboxPulse,
        Member("line", is_text),
        Member("masked", is_flag),
        _TIME,
    ),
    event_type(
        EscalationRaised,
        Member("task_id", is_id),
        Member("agent_id", AGENT, required=False),
        Member("turn_index", is_turn_index, required=False),
        Member("detector", is_text),
        Member("rules", is_text_list),
        Member("outcome", is_text),
        Member("figures", is_open_object),
        _TIME,
    ),
)
"""All types, in the order of the Avro union of payloads: new ones come at the end."""

BY_NAME = {each.name: each for each in EVENT_TYPES}
NAMES = {each.record: each.name for each in EVENT_TYPES}
"""The types' names by the Avro record of the payload."""

TASK_TRANSITION = f"{NAMESPACE}.{TaskTransition.__name__}"
"""The record of the payloads that move tasks."""

if TYPE_CHECKING:
    Payload = EventPayload
else:
    Payload = Annotated[
        reduce(or_, (each.model for each in EVENT_TYPES)),
        Field(discriminator="type"),
    ]


class Event(ParsedModel):
    event_id: EventId
    session_id: ShortText
    payload: Payload

    @classmethod
    def problems_of(cls, value: Any) -> list[Problem]:
        from schemas.rtes.validate import validate_event

        return validate_event(value)
