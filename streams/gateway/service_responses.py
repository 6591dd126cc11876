"""Pydantic models of the overview, the verdicts, the agents and the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from streams.gateway.responses import (
    Count,
    Position,
    ResponseModel,
    ResponseShape,
    Share,
    Time,
)

Cursor = Annotated[str | None, Field(description="The cursor of the next page.")]
Verdict = Literal["accepted", "duplicate", "rejected", "none"]


class EventCounts(ResponseModel):
    recorded: Count
    duplicate: Count
    rejected: Count


class VerdictSeries(ResponseModel):
    protocol: str
    verdict: Verdict
    counts: list[Count]


class RuleCount(ResponseModel):
    protocol: str
    topic: str
    verdict: Verdict
    rule: str
    count: Count


class OpenCount(ResponseModel):
    protocol: str
    kind: str
    state: str
    count: Count


class CacheFigures(ResponseModel):
    """The answers of the constitutional cache; `hit_rate` is null without lookups."""

    lookups: Count
    hits: Count
    stored: Count
    refused_writes: Count
    hit_rate: Share | None


class TopicCount(ResponseModel):
    topic: str
    count: Count


class ProcessorBacklog(ResponseModel):
    name: str
    records: Count
    oldest_s: Annotated[float, Field(ge=0)] | None


class Lag(ResponseModel):
    view: Count
    processors: list[ProcessorBacklog]


class Overview(ResponseModel):
    """The figures of the buckets from `from` to before `to`; the last bucket is not over yet.

    All of them follow from the log, but for `lag` and `dead_letters`, which are of now.
    """

    from_: Annotated[Time, Field(alias="from")]
    to: Time
    step_s: Annotated[int, Field(ge=1)]
    commands: Count
    accepted: Count
    duplicate: Count
    rejected: Count
    events: EventCounts
    series: list[VerdictSeries]
    rules: list[RuleCount]
    open: list[OpenCount]
    cache: CacheFigures
    dead_letters: list[TopicCount]
    decayed: list[str]
    escalations: Count
    lag: Lag


class RecordVerdict(ResponseModel):
    at: Time
    protocol: str
    topic: str
    verdict: Literal["accepted", "duplicate", "rejected"]
    rule: str
    message: str | None
    fault: Literal["sender", "service", "infrastructure"] | None
    node: str | None
    title: str | None
    agent: str | None
    principal: str | None
    cause: str | None
    fact: Position


class VerdictPage(ResponseModel):
    """A page of verdicts; filters that leave few of many may make it empty though there is more."""

    items: list[RecordVerdict]
    next: Cursor


class Effects(ResponseModel):
    """The effects of a record.  decided: there are any, be it a dead letter.

    `verdicts` are the accepted ones too.  Messages are those to the inboxes of agents, as long as
    their topics kept them when the view was made.
    """

    decided: bool
    verdicts: list[RecordVerdict]
    facts: list[Position]
    messages: list[Position]
    edges: list[Position]


class Agent(ResponseModel):
    agent: str
    protocol: str
    accepted: Count
    duplicate: Count
    rejected: Count
    last_at: Time
    last_rule: str


class AgentPage(ResponseModel):
    items: list[Agent]
    next: Cursor


class SearchResult(ResponseModel):
    """A thing, a trace, an agent or a record; `node` of an agent is its id, of a record its place.

    `title` is the node where nothing more is known of it.
    """

    node: str
    kind: str
    title: str
    state: str | None
    at: Time | None
    match: Literal["exact", "prefix"]


class SearchResults(ResponseModel):
    items: list[SearchResult]
    next: Annotated[None, Field(description="There are no further pages; ask for a longer text.")]


RESPONSES: Mapping[str, ResponseShape] = {
    "Overview": Overview,
    "VerdictPage": VerdictPage,
    "AgentPage": AgentPage,
    "Effects": Effects,
    "SearchResults": SearchResults,
}
TAGS: Mapping[str, str] = {
    "overview": "What was decided in a window of time, what is open, and what lags.",
    "verdicts": "Refused and duplicate records of all protocols.",
    "agents": "Who sends, and what becomes of it.",
    "search": "Things, traces, agents and positions by the beginning of an id.",
}
"""Descriptions of the tags of these routes."""
