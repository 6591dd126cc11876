"""The response models for tasks, their states, calls and agents (ASAP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from streams.gateway.responses import (
    Count,
    Json,
    Position,
    ResponseModel,
    ResponseShape,
    Row,
    Time,
    record_schema,
)
from topology.asap import ASAP_MANIFESTS

Status = Literal[
    "submitted",
    "working",
    "input_required",
    "paused",
    "completed",
    "failed",
    "cancelled",
    "rejected",
]
EnvelopeRow = Annotated[dict[str, Any], record_schema("dev.headrace.asap.AsapEnvelope")]
EventRow = Annotated[dict[str, Any], record_schema("dev.headrace.asap.AsapEvent")]
ManifestRow = Annotated[dict[str, Any], record_schema("dev.headrace.asap.AsapManifest")]
Object = dict[str, Json]
Version = Annotated[int, Field(ge=1)]
Mode = Literal["snapshot", "event-sourced"]


class AsapPosition(ResponseModel):
    id: str
    key: str
    position: Position
    trace_id: str
    filled: list[str]


class AsapPositions(ResponseModel):
    """Where the envelopes are on the log, in the order sent."""

    positions: list[AsapPosition]


class AsapTaskEntity(ResponseModel):
    id: str
    conversation_id: str
    parent_task_id: str | None
    status: Status
    progress: Object | None
    created_at: Time
    updated_at: Time


class AsapListedTask(ResponseModel):
    task: AsapTaskEntity
    requester: str
    worker: str
    skill_id: str
    depth: Count
    sequence: Count
    state_mode: Mode
    event_retention_hours: Count | None
    events_available: bool
    timeout_at: Time
    idempotency_key: str | None
    trace_id: str | None
    aliases: list[str]
    input_request: Object | None
    config: Object | None
    error_code: str | None
    snapshot_version: Count | None
    snapshot_mark: Count


class AsapTaskBody(AsapListedTask):
    response: EnvelopeRow | None


class AsapState(ResponseModel):
    task: AsapTaskEntity
    data: Object
    checkpoint: bool


class AsapTaskThen(ResponseModel):
    """A task as it was after an event."""

    task_id: str
    version: Version
    state: AsapState


class AsapTasks(ResponseModel):
    tasks: list[AsapListedTask]
    cursor: str | None


class AsapEvents(ResponseModel):
    task_id: str
    state_mode: Mode
    events: list[EventRow]
    cursor: str | None


class AsapEventsThen(AsapEvents):
    version: Version
    state: AsapState


class AsapVerdicts(ResponseModel):
    events: list[EventRow]


class AsapListedSnapshot(ResponseModel):
    id: str
    version: Version
    checkpoint: bool
    created_at: Time
    restored_from: Version | None


class AsapSnapshots(ResponseModel):
    task_id: str
    snapshot_mark: Count
    snapshots: list[AsapListedSnapshot]


class AsapStateSnapshot(ResponseModel):
    id: str
    task_id: str
    version: Version
    data: Object
    checkpoint: bool
    created_at: Time


class AsapMessage(ResponseModel):
    id: str
    task_id: str
    sender: str
    role: Literal["user", "assistant", "system"]
    parts: list[str | Object]
    timestamp: Time


class AsapMessages(ResponseModel):
    messages: list[AsapMessage]


class AsapArtifact(ResponseModel):
    id: str
    task_id: str
    name: str
    parts: list[str | Object]
    created_at: Time


class AsapArtifacts(ResponseModel):
    artifacts: list[AsapArtifact]


class AsapCallAnswer(ResponseModel):
    key: str
    kind: Literal["tool", "resource"]
    state: Literal["open", "answered", "timed_out"]
    caller: str
    callee: str
    call: EnvelopeRow
    answer: EnvelopeRow | None
    opened_at: Time
    closed_at: Time | None


class AsapConversationEntity(ResponseModel):
    id: str
    participants: list[str]
    created_at: Time
    metadata: Object | None


class AsapConversation(ResponseModel):
    conversation: AsapConversationEntity
    tasks: list[str]


class AsapListedConversation(ResponseModel):
    """A conversation.  created_at, last_created_at: of its first and its last task."""

    id: str
    tasks: Count
    created_at: Time
    last_created_at: Time


class AsapConversations(ResponseModel):
    items: list[AsapListedConversation]
    next: str | None


class AsapAgents(ResponseModel):
    agents: list[ManifestRow]
    cursor: str | None


RESPONSES: Mapping[str, ResponseShape] = {
    "AsapPositions": AsapPositions,
    "AsapTasks": AsapTasks,
    "AsapTaskAnswer": (AsapTaskBody, AsapTaskThen),
    "AsapEvents": (AsapEvents, AsapEventsThen),
    "AsapVerdicts": AsapVerdicts,
    "AsapSnapshots": AsapSnapshots,
    "AsapStateSnapshot": AsapStateSnapshot,
    "AsapMessages": AsapMessages,
    "AsapArtifacts": AsapArtifacts,
    "AsapCallAnswer": AsapCallAnswer,
    "AsapConversation": AsapConversation,
    "AsapConversations": AsapConversations,
    "AsapAgents": AsapAgents,
    "AsapAgentManifest": Row.of(ASAP_MANIFESTS),
}
"""The response models by their names in the route table."""
