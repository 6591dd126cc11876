"""`GET /v1/search`: things, traces, agents and positions by their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.api.things import Thing
from streams.engine.records import TopicPartition
from streams.errors import NotFound
from streams.log.records import is_hidden
from streams.log.state import LogState
from streams.protocols.queries import QUERIES
from streams.routes.log import process_of
from streams.routes.thing_kinds import KINDS
from streams.view_store.graph.index import IN, OUT
from streams.views.parse import parse_position
from streams.views.query_params import AFTER, Parameter, limit
from streams.views.reads import ReadOnlyStore
from streams.views.service.agents import AGENT, rows_of_agent
from streams.views.service.refusals import NODE
from streams.views.service.search import SearchedRows, ids_beginning_with, is_id
from topology.keys import composite
from topology.lineage import NODE_KINDS, kind_of

Json = dict[str, Any]
AGENT_KIND, RECORD_KIND, TRACE_KIND = "agent", "record", "trace"
SEARCH_PARAMS = (
    Parameter("q", "an id, or its beginning", low=3, high=200, required=True, example="7f0c2f5d"),
    limit(20, 100),
)
_ESCAPED = {kind.name: kind.escaped for kind in NODE_KINDS}
_ROWS: tuple[SearchedRows, ...] = tuple(rows for side in QUERIES for rows in side.searched)


class Source(NamedTuple):
    """Rows with ids, in which is searched.

    text: the beginning of their ids.  item: takes an id; returns kind and node.
    """

    prefix: bytes
    text: str
    item: Callable[[str], tuple[str, str]]


def search(call: Call) -> Json:
    """Return what has the id, and then what has an id that begins with it."""
    text, limit = call.params.required("q"), call.params.limit()
    sources = [source for spelling in _spellings(text) for source in _sources(spelling)]
    exact = chain(_positions(call, text), _exact(call.view, sources))
    matches: dict[tuple[str, str], str] = {}
    for match, places in (("exact", exact), ("prefix", _beginning(call.view, sources))):
        for place in places:
            if len(matches) == limit:
                break
            matches.setdefault(place, match)
    items = [{**_describe(call, *place), "match": match} for place, match in matches.items()]
    return {"items": items, "next": None}


def _spellings(text: str) -> tuple[str, ...]:
    """Return the text, and in lower case as ids that are UUIDs are kept."""
    return tuple(dict.fromkeys((text, text.lower())))


def _sources(text: str) -> Iterator[Source]:
    """Yield where to look for ids that begin with a text: rows of things, the graph, agents."""
    for rows in _ROWS:
        yield Source(rows.prefix, text, partial(_thing_named, rows.kind))
    names = [f"{kind.name}:{composite(text) if kind.escaped else text}" for kind in NODE_KINDS]
    for name in [text] if kind_of(text) in _ESCAPED else names:
        for prefix in (OUT, IN, NODE):
            yield Source(prefix, name, lambda node: (kind_of(node), node))
    yield Source(AGENT, text, lambda agent: (AGENT_KIND, agent))


def _thing_named(kind: str, id: str) -> tuple[str, str]:
    return kind, f"{kind}:{composite(id) if _ESCAPED[kind] else id}"


def _exact(view: ReadOnlyStore, sources: list[Source]) -> Iterator[tuple[str, str]]:
    return (
        source.item(source.text) for source in sources if is_id(view, source.prefix, source.text)
    )


def _beginning(view: ReadOnlyStore, sources: list[Source]) -> Iterator[tuple[str, str]]:
    for source in sources:
        yield from map(source.item, ids_beginning_with(view, source.prefix, source.text))


def _positions(call: Call, text: str) -> Iterator[tuple[str, str]]:
    """Yield the text if it is the position of a record whose topic may be looked at."""
    if AFTER.fault(text) is not None:
        return
    position = parse_position(text, "q")
    if _is_on_log(process_of(call).log(), *position):
        yield RECORD_KIND, text


def _is_on_log(state: LogState, topic: str, partition: int, offset: int) -> bool:
    declared, tp = state.topics.get(topic), TopicPartition(topic, partition)
    if declared is None or is_hidden(declared) or tp not in state.ranges:
        return False
    return state.ranges[tp].start <= offset < state.ranges[tp].end


def _describe(call: Call, kind: str, node: str) -> Json:
    """Return an item without its `match`."""
    title, state, at = node, None, None
    if kind == AGENT_KIND:
        rows = rows_of_agent(call.view, node)
        title = f"{node} in {', '.join(row.protocol for row in rows)}"
        at = max(row.counts.last_at for row in rows)
    elif (thing := _thing(call, kind, node)) is not None:
        title, state = thing.title, thing.state
        at = thing.steps[-1].at if thing.steps else thing.started_at
    return {
        "node": node,
        "kind": kind,
        "title": title,
        "state": state,
        "at": None if at is None else iso_ms(at),
    }


def _thing(call: Call, kind: str, node: str) -> Thing | None:
    """Return the thing of a node; the first one where several sessions use its id."""
    query = KINDS.get(kind)
    ids = [] if query is None else query.find(call.view, node.removeprefix(f"{kind}:"), None)
    if query is None or not ids:
        return None
    try:
        return query.read(replace(call, ids=ids[0]))
    except NotFound:
        return None


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/search",
        "search",
        Query(search),
        "things, traces, agents and positions whose id is the text or begins with it, exact ones"
        " first",
        SEARCH_PARAMS,
        "SearchResults",
    ),
)
