"""The response models for tasks, their states, calls and agents (asap spec, 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from streams.gateway.answers.service import Position
from streams.gateway.answers.shapes import Answer, Count, Json, Response, Row, Time, record
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
EnvelopeRow = Annotated[dict[str, Any], record("dev.headrace.asap.AsapEnvelope")]
EventRow = Annotated[dict[str, Any], record("dev.headrace.asap.AsapEvent")]
ManifestRow = Annotated[dict[str, Any], record("dev.headrace.asap.AsapManifest")]
Object = dict[str, Json]
Version = Annotated[int, Field(ge=1)]
Mode = Literal["snapshot", "event-sourced"]


class AsapPosition(Answer):
    id: str
    key: str
    position: Position


class AsapPositions(Answer):
    """Where the envelopes are on the log, in the order sent."""

    positions: list[AsapPosition]


class AsapTaskEntity(Answer):
    id: str
    conversation_id: str
    parent_task_id: str | None
    status: Status
    progress: Object | None
    created_at: Time
    updated_at: Time


class AsapListedTask(Answer):
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


class AsapState(Answer):
    task: AsapTaskEntity
    data: Object
    checkpoint: bool


class AsapTaskThen(Answer):
    """A task as it was after an event."""

    task_id: str
    version: Version
    state: AsapState


class AsapTasks(Answer):
    tasks: list[AsapListedTask]
    cursor: str | None


class AsapEvents(Answer):
    task_id: str
    state_mode: Mode
    events: list[EventRow]
    cursor: str | None


class AsapEventsThen(AsapEvents):
    version: Version
    state: AsapState


class AsapVerdicts(Answer):
    events: list[EventRow]


class AsapListedSnapshot(Answer):
    id: str
    version: Version
    checkpoint: bool
    created_at: Time
    restored_from: Version | None


class AsapSnapshots(Answer):
    task_id: str
    snapshot_mark: Count
    snapshots: list[AsapListedSnapshot]


class AsapStateSnapshot(Answer):
    id: str
    task_id: str
    version: Version
    data: Object
    checkpoint: bool
    created_at: Time


class AsapMessage(Answer):
    id: str
    task_id: str
    sender: str
    role: Literal["user", "assistant", "system"]
    parts: list[str | Object]
    timestamp: Time


class AsapMessages(Answer):
    messages: list[AsapMessage]


class AsapArtifact(Answer):
    id: str
    task_id: str
    name: str
    parts: list[str | Object]
    created_at: Time


class AsapArtifacts(Answer):
    artifacts: list[AsapArtifact]


class AsapCallAnswer(Answer):
    key: str
    kind: Literal["tool", "resource"]
    state: Literal["open", "answered", "timed_out"]
    caller: str
    callee: str
    call: EnvelopeRow
    answer: EnvelopeRow | None
    opened_at: Time
    closed_at: Time | None


class AsapConversationEntity(Answer):
    id: str
    participants: list[str]
    created_at: Time
    metadata: Object | None


class AsapConversation(Answer):
    conversation: AsapConversationEntity
    tasks: list[str]


class AsapAgents(Answer):
    agents: list[ManifestRow]
    cursor: str | None


RESPONSES: Mapping[str, Response] = {
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
    "AsapAgents": AsapAgents,
    "AsapAgentManifest": Row.of(ASAP_MANIFESTS),
}
"""The response models by their names in the route table."""
