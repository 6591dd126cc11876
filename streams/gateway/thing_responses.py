"""Pydantic models of a thing, and of the things of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from streams.gateway.responses import (
    GraphCut,
    Json,
    Position,
    ResponseModel,
    ResponseShape,
    Time,
)

JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
Words = Annotated[str, Field(min_length=1)]


class ThingAgent(ResponseModel):
    id: str
    role: Words


class ThingStep(ResponseModel):
    n: Annotated[int, Field(ge=1)]
    at: Time
    event: str | None
    from_: Annotated[str | None, Field(alias="from")]
    to: str | None
    verdict: str | None
    rule: str | None
    message: str | None
    cause: Position | None
    fact: Position | None
    principal: str | None


class ThingCheck(ResponseModel):
    name: Words
    holds: bool | None
    value: str | None
    bound: str | None


class ThingVerdict(ResponseModel):
    at: Time
    verdict: Words
    rule: str | None
    message: str | None
    fault: str | None
    figures: JsonObject
    errors: list[JsonObject]
    checks: list[ThingCheck]
    cause: Position | None
    fact: Position | None
    principal: str | None


class ThingRecord(ResponseModel):
    position: Position
    role: Literal["command", "fact", "reply", "inbox"]
    at: Time


class ThingLink(ResponseModel):
    relation: Words
    direction: Literal["out", "in"]
    node: Words


class Thing(ResponseModel):
    node: Words
    protocol: Words
    kind: Words
    title: Words
    state: str | None
    terminal: bool
    machine: str | None
    session_id: str | None
    trace: str | None
    agents: list[ThingAgent]
    started_at: Time | None
    ended_at: Time | None
    due_at: Time | None
    api: Words
    steps: list[ThingStep]
    next: str | None
    verdicts: list[ThingVerdict]
    records: list[ThingRecord]
    links: list[ThingLink]
    details: Json


class TraceThing(ResponseModel):
    node: Words
    protocol: Words
    kind: Words
    title: Words
    state: str | None
    verdict: str | None
    rule: str | None
    started_at: Time | None
    ended_at: Time | None
    parent: str | None


class TraceThings(ResponseModel):
    trace: Words
    items: list[TraceThing]
    cut: GraphCut | None


RESPONSES: Mapping[str, ResponseShape] = {"Thing": Thing, "TraceThings": TraceThings}
"""The shapes of the responses, by the names that the route table uses."""
