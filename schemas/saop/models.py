"""The models of turn envelopes and rewind commands, for people and programs that make them.

Source: SAOP guide, 2.1 and 2.3.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

from schemas.formats import MAX_ID
from schemas.model import Natural, Share, ShortText, Text, TolerantModel
from schemas.parsing import ParsedModel
from schemas.problems import Problem
from schemas.rtes.models import AgentId, EventId, Timestamp
from schemas.saop.validate import validate_turn

Complexity = Literal["low", "medium", "high"]
Phase = Literal["prepare", "confirm", "abort", "apply"]
Action = Literal["pause", "resume"]
Nullable = Annotated[Text | None, WithJsonSchema({"type": ["string", "null"]})]
"""A member that may be absent or null, with the same meaning."""
NullableId = Annotated[
    ShortText | None, WithJsonSchema({"type": ["string", "null"], "maxLength": MAX_ID})
]


class Content(TolerantModel):
    thought: Text
    action: Text
    observation: Text


class Metadata(TolerantModel):
    version: Literal["1.0.0"]
    task_id: ShortText
    timestamp: Timestamp
    confidence: Share
    estimated_complexity: Complexity


class Turn(ParsedModel):
    turn_index: Natural
    agent_id: AgentId
    role: AgentId
    content: Content
    metadata: Metadata

    @classmethod
    def problems_of(cls, value: Any) -> list[Problem]:
        return validate_turn(value)


class Rewind(TolerantModel):
    """`prepare` and `apply` name a task or a commit; `confirm` and `abort` neither."""

    rewind_id: EventId
    session_id: ShortText
    phase: Phase
    task_id: NullableId = None
    git_hash: NullableId = None
    requested_by: ShortText
    reason: Nullable = None


class Control(TolerantModel):
    """An operator's command to pause a task, or to resume it."""

    control_id: EventId
    session_id: ShortText
    task_id: ShortText
    action: Action
    requested_by: ShortText
    reason: Nullable = None
