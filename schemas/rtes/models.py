"""RTES events: the models, for people and programs that make them (spec saop 2.2)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict, WithJsonSchema

from schemas.formats import is_rfc_uuid, is_saop_time
from schemas.model import Flag, Natural, OpenObject, Text, Tolerant

AgentId = Literal["researcher", "architect", "developer", "reviewer"]
ToolStatus = Literal["success", "failure", "timeout"]
Origin = Literal["apc", "asap", "sap", "summit"]

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


class ThoughtStream(Tolerant):
    type: Literal["THOUGHT_STREAM"]
    agent_id: AgentId
    turn_index: Natural
    chunk: Text
    is_final: Flag


class ToolInvoked(Tolerant):
    type: Literal["TOOL_LIFECYCLE_INVOKED"]
    call_id: Text
    tool: Text
    arguments: OpenObject
    timestamp: Timestamp


class ToolCompleted(Tolerant):
    type: Literal["TOOL_LIFECYCLE_COMPLETED"]
    call_id: Text
    tool: Text
    status: ToolStatus
    duration_ms: Annotated[float, Strict(), Field(ge=0)]
    timestamp: Timestamp


class TaskTransition(Tolerant):
    type: Literal["TASK_TRANSITION"]
    task_id: Text
    from_state: Text
    to_state: Text
    git_hash: Text | None = None
    timestamp: Timestamp


class SandboxPulse(Tolerant):
    type: Literal["SANDBOX_PULSE"]
    line: Text
    masked: Flag
    timestamp: Timestamp


Payload = Annotated[
    ThoughtStream | ToolInvoked | ToolCompleted | TaskTransition | SandboxPulse,
    Field(discriminator="type"),
]


class Event(Tolerant):
    event_id: EventId
    session_id: Text
    payload: Payload


PAYLOAD_MODELS: dict[str, type[Tolerant]] = {
    "THOUGHT_STREAM": ThoughtStream,
    "TOOL_LIFECYCLE_INVOKED": ToolInvoked,
    "TOOL_LIFECYCLE_COMPLETED": ToolCompleted,
    "TASK_TRANSITION": TaskTransition,
    "SANDBOX_PULSE": SandboxPulse,
}
