"""The twelve payloads of ASAP, distinguished by `payload_type` (ASAP guide, 2.5).

Each accepts any spelling of its type and writes the canonical one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from schemas.asap.adapter import UnionAdapter
from schemas.asap.base import ASAPBaseModel, OpenObject
from schemas.asap.enums import MessageRole, TaskStatus, UpdateType
from schemas.asap.parts import Item
from schemas.asap.problems import malformed_error, unknown_type_problem, validation_problems
from schemas.asap.spelling import normalize_payload_type

T = TypeVar("T", bound=str)


def _canonical(value: Any) -> Any:
    """Return a known payload type in its canonical spelling; anything else unchanged."""
    return (normalize_payload_type(value) or value) if isinstance(value, str) else value


Spelled = Annotated[T, BeforeValidator(_canonical)]


def _check_percent(progress: OpenObject) -> OpenObject:
    if "percent" in progress:
        percent = progress["percent"]
        if not isinstance(percent, (int, float)):
            raise PydanticCustomError("percent", "progress.percent must be a number")
        if not 0 <= percent <= 100:
            raise PydanticCustomError("percent", "progress.percent must be between 0 and 100")
    return progress


_PERCENT = {"type": ["number", "boolean"], "minimum": 0, "maximum": 100}
Progress = Annotated[
    OpenObject,
    AfterValidator(_check_percent),
    Field(json_schema_extra={"properties": {"percent": _PERCENT}}),
]


class TaskRequest(ASAPBaseModel):
    """A requester asks a worker for a task.  Its envelope's id becomes the task's."""

    payload_type: Spelled[Literal["TaskRequest"]] = "TaskRequest"
    conversation_id: str
    parent_task_id: str | None = None
    skill_id: str
    input: OpenObject
    config: OpenObject | None = None


class TaskResponse(ASAPBaseModel):
    """What came of a task."""

    payload_type: Spelled[Literal["TaskResponse"]] = "TaskResponse"
    task_id: str
    status: TaskStatus
    result: OpenObject | None = None
    final_state: OpenObject | None = None
    metrics: OpenObject | None = None


class TaskUpdate(ASAPBaseModel):
    """How a task gets on.  input_request: holds `prompt`, `options`, `schema` by convention."""

    payload_type: Spelled[Literal["TaskUpdate"]] = "TaskUpdate"
    task_id: str
    update_type: UpdateType
    status: TaskStatus
    progress: Progress | None = None
    input_request: OpenObject | None = None


class TaskCancel(ASAPBaseModel):
    """The requester wants the task no more."""

    payload_type: Spelled[Literal["TaskCancel"]] = "TaskCancel"
    task_id: str
    reason: str | None = None


class MessageSend(ASAPBaseModel):
    """A message between the agents of a task."""

    payload_type: Spelled[Literal["MessageSend"]] = "MessageSend"
    task_id: str
    message_id: str
    sender: str
    role: MessageRole
    parts: list[Item]


class StateQuery(ASAPBaseModel):
    """Asks for a saved state.  version: None for the latest."""

    payload_type: Spelled[Literal["StateQuery"]] = "StateQuery"
    task_id: str
    version: int | None = None


class StateRestore(ASAPBaseModel):
    """Makes an earlier state the latest."""

    payload_type: Spelled[Literal["StateRestore"]] = "StateRestore"
    task_id: str
    snapshot_id: str


class ArtifactNotify(ASAPBaseModel):
    """A worker tells of something it has made."""

    payload_type: Spelled[Literal["ArtifactNotify"]] = "ArtifactNotify"
    artifact_id: str
    task_id: str
    name: str | None = None


class McpToolCall(ASAPBaseModel):
    """An MCP tool is called."""

    payload_type: Spelled[Literal["McpToolCall"]] = "McpToolCall"
    request_id: str
    tool_name: str
    arguments: OpenObject
    mcp_context: OpenObject | None = None


class McpToolResult(ASAPBaseModel):
    """What an MCP tool gave: a result, or an error."""

    payload_type: Spelled[Literal["McpToolResult"]] = "McpToolResult"
    request_id: str
    success: bool
    result: OpenObject | None = None
    error: str | None = None

    @field_validator("result", "error")
    @classmethod
    def _goes_with_success(cls, value: Any, info: ValidationInfo) -> Any:
        success = info.data.get("success")
        if success is None or (value is not None) is (success is (info.field_name == "result")):
            return value
        rule = "be given" if value is None else "be null"
        raise PydanticCustomError(
            "success",
            "must {rule} when success is {success}",
            {"rule": rule, "success": str(success).lower()},
        )


class McpResourceFetch(ASAPBaseModel):
    """Asks for an MCP resource, of any scheme."""

    payload_type: Spelled[Literal["McpResourceFetch"]] = "McpResourceFetch"
    resource_uri: str


class McpResourceData(ASAPBaseModel):
    """An MCP resource."""

    payload_type: Spelled[Literal["McpResourceData"]] = "McpResourceData"
    resource_uri: str
    content: OpenObject


AnyPayload = (
    TaskRequest
    | TaskResponse
    | TaskUpdate
    | TaskCancel
    | MessageSend
    | StateQuery
    | StateRestore
    | ArtifactNotify
    | McpToolCall
    | McpToolResult
    | McpResourceFetch
    | McpResourceData
)
PAYLOADS: dict[str, type[AnyPayload]] = {
    model.__name__: model
    for model in (
        TaskRequest,
        TaskResponse,
        TaskUpdate,
        TaskCancel,
        MessageSend,
        StateQuery,
        StateRestore,
        ArtifactNotify,
        McpToolCall,
        McpToolResult,
        McpResourceFetch,
        McpResourceData,
    )
}
"""The models by canonical payload type."""


def _type_of(value: Any) -> str | None:
    if isinstance(value, dict):
        tag = _canonical(value.get("payload_type"))
    else:
        tag = getattr(value, "payload_type", None)
    return tag if tag is None else str(tag)


Payload = UnionAdapter[AnyPayload](
    Annotated[
        Annotated[TaskRequest, Tag("TaskRequest")]
        | Annotated[TaskResponse, Tag("TaskResponse")]
        | Annotated[TaskUpdate, Tag("TaskUpdate")]
        | Annotated[TaskCancel, Tag("TaskCancel")]
        | Annotated[MessageSend, Tag("MessageSend")]
        | Annotated[StateQuery, Tag("StateQuery")]
        | Annotated[StateRestore, Tag("StateRestore")]
        | Annotated[ArtifactNotify, Tag("ArtifactNotify")]
        | Annotated[McpToolCall, Tag("McpToolCall")]
        | Annotated[McpToolResult, Tag("McpToolResult")]
        | Annotated[McpResourceFetch, Tag("McpResourceFetch")]
        | Annotated[McpResourceData, Tag("McpResourceData")],
        Discriminator(_type_of),
    ],
    "Payload",
)
"""Reads, writes and describes any payload that has its `payload_type`."""


def parse_payload(payload_type: str, obj: Any) -> AnyPayload:
    """Parse the payload of a type in any spelling.

    Raises MalformedEnvelopeError when the type is unknown or the object does not fit it; its
    details hold `validation_errors`, a list of {rule, path, message}.
    """
    name = normalize_payload_type(payload_type)
    if name is None:
        raise malformed_error(
            f"unknown payload type '{payload_type}'", [unknown_type_problem(PAYLOADS)]
        )
    try:
        return PAYLOADS[name].model_validate(obj)
    except ValidationError as exc:
        raise malformed_error(
            f"the payload is no {name}", validation_problems(exc, "payload")
        ) from exc
