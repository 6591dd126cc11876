"""The query side of a protocol, for views, the gateway, `query` and `play`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.api.agent_tools import AgentTools
from streams.api.description import Description
from streams.api.filling import Filling
from streams.api.lines import LineOf
from streams.api.long_work import LongWork
from streams.api.problems import Response
from streams.api.route import Route
from streams.api.things import OutcomeQuery, ThingQuery
from streams.engine.records import Output, Record
from streams.settings.service import ServiceSettings
from streams.views.projection import Apply
from streams.views.reads import ReadOnlyStore
from streams.views.service.counters import Counts
from streams.views.service.open_work import OpenWork
from streams.views.service.search import SearchedRows
from streams.views.service.verdicts import FactReading, SenderReading
from topology.declarations import Topic

Endpoints = Callable[[Any], Sequence[tuple[str, str, Any]]]
"""Takes the gateway; returns method, path and endpoint of those outside the route table."""
VerdictRow = Callable[[int, int], bytes]
"""Takes partition and offset of a command; returns the key of its verdict's row."""

OverviewMember = Callable[[ReadOnlyStore, Counts], Any]
"""Takes the view and the counts in the window; returns a member of the overview."""


class PlayContext(NamedTuple):
    """The run of a scenario, as the servers that respond in it use it.

    catch_up: brings the view to the end of the log.  clock: ms.  append: appends records to the log
    and runs every processor until it is idle.  partitions: the number of partitions by topic.
    log: to be read.  line: the number of the line of input.
    """

    settings: ServiceSettings
    view: Any
    clock: Callable[[], int]
    append: Callable[[Sequence[Output]], Sequence[Record]]
    new_id: Callable[[], str]
    partitions: Callable[[], Mapping[str, int]]
    log: Any = None
    line: int = 0


PlayServer = Callable[[PlayContext, str, str, str, Mapping[str, str], Any], Response | None]
"""Takes method, path, query, headers and body; returns None for another server's path."""


class LiveTail(NamedTuple):
    """A topic that clients follow live, `/v1/rtes/stream`.

    types: the types of its records' payloads, by which clients filter.
    """

    topic: Topic
    types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class QuerySide:
    """The projection of one protocol's records to rows, and the routes that read them.

    projection: by topic name; None where a record is only indexed by what it responds to.
    verdict_rows: by topic name, for topics where a later command can get its verdict first.
    routes: in the order of the documents.
    responses: loads the models of responses, by the names that routes use.
    description: loads the protocol's part of the OpenAPI document.
    filling: what its edges fill in, for `play`.
    lines: one line of text for a record, by topic name; `tail` and `play` print them.
    live_tail: the topic that clients follow live; one protocol has it.
    things: how the things of its nodes are read, by kind, such as `apc:packet`.
    outcomes: how the outcome of those things is read that clients may wait for, by kind.
    long_work: those of them that doors show as work that takes long, by kind.
    agent_tools: the tools of its registered agents, if it has such.
    is_shared_message: whether a message, as JSON, is for every agent of a capability, and not for
    one agent; None if the protocol has no such messages.
    endpoints, play: servers of the protocol beside the routes, in the gateway and in `play`.
    verdicts: by topic name, how the facts of that topic say their verdicts, or how its commands
    say who sent them.
    open_work: what is counted while it is open.
    overview: the members that the protocol adds to the overview.
    searched: the rows by which its things are found, besides the lineage graph.
    """

    name: str
    projection: Mapping[str, Apply | None]
    routes: tuple[Route, ...]
    responses: Callable[[], Mapping[str, Any]]
    description: Callable[[], Description] = Description
    verdict_rows: Mapping[str, VerdictRow] = field(default_factory=dict)
    filling: Filling | None = None
    lines: Mapping[str, LineOf] = field(default_factory=dict)
    live_tail: LiveTail | None = None
    things: Mapping[str, ThingQuery] = field(default_factory=dict)
    outcomes: Mapping[str, OutcomeQuery] = field(default_factory=dict)
    long_work: Mapping[str, LongWork] = field(default_factory=dict)
    agent_tools: AgentTools | None = None
    is_shared_message: Callable[[Any], bool] | None = None
    endpoints: Endpoints | None = None
    play: PlayServer | None = None
    verdicts: Mapping[str, FactReading | SenderReading] = field(default_factory=dict)
    open_work: tuple[OpenWork, ...] = ()
    overview: Mapping[str, OverviewMember] = field(default_factory=dict)
    searched: tuple[SearchedRows, ...] = ()
