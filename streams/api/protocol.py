"""What a protocol contributes to queries, the gateway and `play`: its query side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.api.description import Description
from streams.api.filling import Filling
from streams.api.problems import Response
from streams.api.route import Route
from streams.engine.records import Output, Record
from streams.settings.service import ServiceSettings
from streams.views.projection import Apply
from topology.declarations import Topic

Endpoints = Callable[[Any], Sequence[tuple[str, str, Any]]]
"""Takes the gateway; gives method, path and endpoint of each that is no row of the route table."""
VerdictRow = Callable[[int, int], bytes]
"""Takes partition and offset of a command; gives the key of the row that its verdict writes."""


class PlayContext(NamedTuple):
    """What a scenario offers to the servers that answer in it.

    catch_up: brings the view to the end of the log.  clock: ms.  append: puts records on the log
    and lets every processor come to rest.  partitions: of each topic.
    """

    settings: ServiceSettings
    view: Any
    clock: Callable[[], int]
    append: Callable[[Sequence[Output]], Sequence[Record]]
    new_id: Callable[[], str]
    partitions: Callable[[], Mapping[str, int]]


PlayServer = Callable[[PlayContext, str, str, str, Mapping[str, str], Any], Response | None]
"""Takes method, path, query, headers and body; None for what is not its own."""


class LiveTail(NamedTuple):
    """A topic that clients follow live, `/v1/rtes/stream`.

    types: of its records' payloads, by which clients filter.
    """

    topic: Topic
    types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class QuerySide:
    """How one protocol's records become rows, and how these are asked for.

    projection: by topic name, None where only what it answers is noted.  verdict_rows: by topic
    name, where later commands may be answered earlier.  routes: in the order of the documents.
    responses: the models of answers, by the names that routes use; loads them when called.
    description: what it adds to the OpenAPI document; loads it when called.
    filling: what its edges make up, as `play` does it.
    live_tail: the topic that clients follow live; one protocol has it.
    endpoints, play: servers of the protocol's own beside the routes, in the gateway and in `play`.
    """

    name: str
    projection: Mapping[str, Apply | None]
    routes: tuple[Route, ...]
    responses: Callable[[], Mapping[str, Any]]
    description: Callable[[], Description] = Description
    verdict_rows: Mapping[str, VerdictRow] = field(default_factory=dict)
    filling: Filling | None = None
    live_tail: LiveTail | None = None
    endpoints: Endpoints | None = None
    play: PlayServer | None = None
