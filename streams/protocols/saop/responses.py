"""The response models for sessions and their agents (SAOP guide, 6.1 and 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from streams.gateway.responses import (
    Count,
    Page,
    ResponseModel,
    ResponseShape,
    Row,
    Time,
    record_schema,
)
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_CONTROL_LOG,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_TASKS,
    SAOP_VERDICTS,
)

MoveRow = Annotated[dict[str, Any], record_schema("headrace.saop.RewindMove")]


class Call(ResponseModel):
    call_id: str
    tool: str
    task_id: str | None
    status: Literal["success", "failure", "timeout"] | None
    duration_ms: float | None
    invoked_sequence: Count | None
    completed_sequence: Count | None
    flags: list[str]


class Calls(ResponseModel):
    items: list[Call]
    next: str | None


class Session(ResponseModel):
    session_id: str
    last_sequence: Count
    first_recorded_at: Time | None
    last_recorded_at: Time | None
    events_by_type: dict[str, Count]
    tasks_by_state: dict[str, Count]
    current_task: str | None
    rejected: Count
    duplicates: Count


class Sessions(ResponseModel):
    items: list[Session]
    next: str | None


class ThoughtComparison(ResponseModel):
    task_id: str | None
    session_id: str | None
    turn_index: Count
    agent_id: str
    status: Literal["match", "mismatch", "pending"]
    reason: Literal["no_turn", "no_stream", "not_final", "several_streams", "no_task"] | None
    chunks: Count
    stream_chars: Count | None
    thought_chars: Count | None
    stream_sha256: str | None
    thought_sha256: str | None
    first_difference: Count | None


class ThoughtAudit(ResponseModel):
    items: list[ThoughtComparison]
    next: str | None


class RewindPlan(ResponseModel):
    target_task_id: str
    git_hash: str | None
    cut_sequence: Count
    moved: list[MoveRow]
    unchanged: list[str]


RESPONSES: Mapping[str, ResponseShape] = {
    "Events": Page.of(RTES_EVENTS),
    "Rejections": Page.of(RTES_REJECTIONS),
    "Calls": Calls,
    "Turns": Page.of(SAOP_LOG),
    "Verdicts": Page.of(SAOP_VERDICTS),
    "Escalations": Page.of(SAOP_ESCALATIONS),
    "Tasks": Page.of(SAOP_TASKS),
    "Sessions": Sessions,
    "ThoughtAudit": ThoughtAudit,
    "Rewinds": Page.of(SAOP_REWIND_LOG),
    "Control": Row.of(SAOP_CONTROL_LOG),
    "Rewind": Row.of(SAOP_REWIND_LOG),
    "RewindPlan": RewindPlan,
}
