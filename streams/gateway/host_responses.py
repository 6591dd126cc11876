"""Pydantic models of the responses about the service, its declarations and its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from schemas.rules import Stage, Where
from streams.gateway.responses import (
    Count,
    ResponseModel,
    ResponseShape,
    Time,
    ViewReadiness,
)
from topology.declarations import TopicKind

From = Field(alias="from")
Cursor = Annotated[str | None, Field(description="The cursor of the next page.")]


class MachineEdge(ResponseModel):
    """An edge of a state machine; `*` stands for every state that is not sealed."""

    from_: Annotated[str, From]
    event: str
    to: str


class StateMachine(ResponseModel):
    name: str
    protocol: str
    title: str
    doc: str
    initial: str
    states: list[str]
    terminal: list[str]
    sealed: list[str]
    edges: list[MachineEdge]


class MachinePage(ResponseModel):
    items: list[StateMachine]
    next: Cursor


class DeclaredRule(ResponseModel):
    protocol: str
    code: str
    stage: Stage
    where: Where
    meaning: str


class RulePage(ResponseModel):
    items: list[DeclaredRule]
    next: Cursor


class PartitionOffsets(ResponseModel):
    partition: Count
    start: Count
    end: Count


class TopicOffsets(ResponseModel):
    name: str
    kind: TopicKind
    partitions: list[PartitionOffsets]


class InputOffsets(ResponseModel):
    """The progress of an input partition; null where the group's offsets are not known."""

    topic: str
    partition: Count
    committed: Count | None
    end: Count
    lag: Count | None


class ProcessorOffsets(ResponseModel):
    name: str
    partitions: list[InputOffsets]


class LogOffsets(ResponseModel):
    topics: list[TopicOffsets]
    processors: list[ProcessorOffsets]
    view: ViewReadiness


class ServiceCaller(ResponseModel):
    principal: str
    roles: list[str]
    expires_at: Time | None


class Service(ResponseModel):
    """The gateway itself.  caller: whom the request's token belongs to."""

    name: str
    version: str
    cluster_id: str
    prefix: str
    partitions: Count
    started_at: Time
    now: Time
    tokens: bool
    protocols: list[str]
    features: list[str]
    caller: ServiceCaller | None


RESPONSES: Mapping[str, ResponseShape] = {
    "MachinePage": MachinePage,
    "StateMachine": StateMachine,
    "RulePage": RulePage,
    "LogOffsets": LogOffsets,
}
"""The shapes of the responses of this host's routes, by the names that the route table uses."""
TAGS: Mapping[str, str] = {
    "machines": "The state machines of all protocols, as they are declared.",
    "rules": "The rules that verdicts name.",
    "log": "The topics on Kafka, and how far they are read.",
    "things": "One thing of any protocol, by its node of the lineage graph.",
    "traces": "All things of a trace.",
}
"""Descriptions of the tags of these routes."""
