"""Pydantic models of the responses and the body of the routes about dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from streams.api.description import Body
from streams.api.openapi import Json as Schema
from streams.gateway.responses import Count, Json, ResponseModel, ResponseShape, Time
from streams.ops.redrive import RedriveStatus
from streams.routes.dead_letters import MAX_POSITIONS, MAX_REASON, POSITION_PATTERN

Position = Annotated[str, Field(description="topic/partition/offset")]


class DeadLetterSummary(ResponseModel):
    """A dead letter.  source: the position of the record that could not be decided.

    topic: the input topic, without the prefix.  at: when it became a dead letter.
    state: whether it can be sent back, or why not.
    """

    position: Position
    source: Position
    topic: str
    at: Time
    code: str
    message: str
    key: str | None
    state: RedriveStatus


class DeadLetter(DeadLetterSummary):
    """A dead letter with its value and its headers."""

    value: Json
    headers: dict[str, Any]


class DeadLetterPage(ResponseModel):
    items: list[DeadLetterSummary]
    next: Annotated[str | None, Field(description="The cursor of the next page.")]


class DeadLetterGroup(ResponseModel):
    """The dead letters of one topic with one code; message and position are those of the last."""

    topic: str
    code: str
    count: Count
    first: Time
    last: Time
    message: str
    position: Position


class DeadLetterGroups(ResponseModel):
    items: list[DeadLetterGroup]
    next: Annotated[str | None, Field(description="The cursor of the next page.")]


class TrialVerdict(ResponseModel):
    """The verdict that a dead letter would get now."""

    verdict: str
    rule: str | None
    message: str | None


class RedriveResult(ResponseModel):
    """The outcome for one dead letter.  sent: its new position.  verdict: in a dry run."""

    position: Position
    state: RedriveStatus
    sent: Position | None
    verdict: TrialVerdict | None


class RedriveResults(ResponseModel):
    results: list[RedriveResult]


def _order_schema() -> Schema:
    flag = {"type": "boolean", "default": False}
    position = {"type": "string", "pattern": f"^{POSITION_PATTERN}$"}
    positions = {"type": "array", "items": position, "minItems": 1}
    return {
        "redrive": {
            "type": "object",
            "required": ["positions"],
            "additionalProperties": False,
            "properties": {
                "positions": {**positions, "maxItems": MAX_POSITIONS},
                "dry_run": {**flag, "description": "Send nothing; show the verdicts."},
                "again": {**flag, "description": "Also those that failed after a redrive."},
                "reason": {"type": ["string", "null"], "maxLength": MAX_REASON},
            },
        }
    }


def _order_example() -> Schema:
    return {"dry run": {"value": {"positions": ["apc.packets.dlq/0/0"], "dry_run": True}}}


BODY = Body("redrive", _order_schema, _order_example)
RESPONSES: Mapping[str, ResponseShape] = {
    "DeadLetterPage": DeadLetterPage,
    "DeadLetterGroups": DeadLetterGroups,
    "DeadLetter": DeadLetter,
    "RedriveResults": RedriveResults,
}
"""The shapes of the responses, by the names that the route table uses."""
TAGS: Mapping[str, str] = {
    "dead-letters": "Records that could not be decided, and sending them again.",
}
"""Descriptions of the tags of these routes."""
