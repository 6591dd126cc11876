"""`GET /v1/things/{node}`: one thing of any protocol, by its node of the lineage graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.api.things import Ids, Link, Step, Thing, ThingQuery, iso_or_none, unknown_node
from streams.errors import AmbiguousNode, NotFound
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery
from streams.routes import thing_kinds, traces
from streams.routes.thing_principals import read_principals
from streams.routes.thing_records import ThingRecords
from streams.view_store.graph.index import Direction, steps
from streams.view_store.graph.until import EdgesUntil
from streams.views.keys import key, number_at_end
from streams.views.pages import Entries, page
from streams.views.parse import QueryError
from streams.views.query_params import CURSOR, SESSION_ID
from streams.views.reads import ReadOnlyStore, RowReader
from topology.lineage import kind_of

Json = dict[str, Any]
KINDS: Mapping[str, ThingQuery] = {**thing_kinds.KINDS, "trace": traces.TRACE}
"""How the things of each kind of nodes are read."""
MOST_STEPS = 500
MOST_LINKS = 50
THING_PARAMS = (
    SESSION_ID._replace(meaning="of this session, where several use the id"),
    CURSOR._replace(meaning="`next` of the page of steps before"),
)
_SAME_TRACE, _TRACE = "same_trace", "trace:"
_TIMES = ("started_at", "ended_at", "due_at")


def thing(call: Call) -> Json:
    """Return the thing of the node in the path, with a page of its steps.

    Raises NotFound for an unknown node, AmbiguousNode if several sessions use its id.
    """
    item = read_thing(call, call.ids["node"], call.params.text("session_id"))
    return _json(call, item)


def read_thing(call: Call, node: str, session_id: str | None = None) -> Thing:
    """Return the thing of a node.  Raises NotFound, AmbiguousNode."""
    query, ids = _find(call.view, node, session_id)
    try:
        return query.read(replace(call, ids=ids))
    except NotFound as exc:
        raise unknown_node(node) from exc


def past(query: AsOfQuery) -> Rows:
    """Return the rows of a thing as they were.  Raises QueryError for kinds without `as_of`."""
    node = query.ids["node"]
    thing_query, ids = _find(query.view, node, query.ids.get("session_id"))
    if thing_query.past is None:
        raise QueryError("as_of", f"{kind_of(node)} has no as_of", "as_of_unsupported")
    return thing_query.past(replace(query, ids=ids))


def _find(view: ReadOnlyStore, node: str, session_id: str | None) -> tuple[ThingQuery, Ids]:
    """Return what reads the thing of a node, and its ids.  Raises NotFound, AmbiguousNode."""
    kind = kind_of(node)
    query = KINDS.get(kind)
    name = node.removeprefix(f"{kind}:")
    if query is None or not name or name == node:
        raise NotFound(
            f"{node} is no node: that is a kind and an id, such as apc:packet:<packet_id>;"
            " `headrace search` finds the node of an id",
            "node_unknown",
        )
    candidates = query.find(view, name, session_id)
    if not candidates:
        raise unknown_node(node)
    if len(candidates) > 1:
        raise AmbiguousNode(node, sorted(ids["session_id"] for ids in candidates))
    return query, candidates[0]


def _json(call: Call, item: Thing) -> Json:
    records = ThingRecords(call.view, call.settings.prefix, item)
    is_past = call.params.text("as_of") is not None
    edges: RowReader = EdgesUntil(call.view, call.now) if is_past else call.view
    listed = _page_of_steps(call, item)
    steps = [(n, records.with_fact(step)) for n, step in listed["items"]]
    verdicts = [records.with_fact(verdict) for verdict in item.verdicts()[-MOST_STEPS:]]
    witnesses = map(records.witness, (*verdicts, *(step for _, step in steps)))
    principals = read_principals(call, filter(None, witnesses))
    steps = [(n, records.with_principal(step, principals)) for n, step in steps]
    verdicts = [records.with_principal(verdict, principals) for verdict in verdicts]
    return {
        "node": item.node,
        "protocol": item.node.partition(":")[0],
        "kind": kind_of(item.node),
        "title": item.title,
        "state": item.state,
        "terminal": item.terminal,
        "machine": item.machine,
        "session_id": item.session_id,
        "trace": item.trace or trace_of(call.view, item.node),
        "agents": [agent._asdict() for agent in item.agents],
        **{name: iso_or_none(getattr(item, name)) for name in _TIMES},
        "api": item.api,
        "steps": [_step_json(n, step) for n, step in steps],
        "next": listed["next"],
        "verdicts": [_with_time(verdict) for verdict in reversed(verdicts)],
        "records": [_with_time(record) for record in records.of(step for _, step in steps)],
        "links": [link._asdict() for link in islice(links_of(edges, item.node), MOST_LINKS)],
        "details": item.details(),
    }


def _page_of_steps(call: Call, item: Thing) -> Json:
    """Return a page of the steps, each with its number."""
    prefix = key("thing", item.node)

    def entries(after_key: bytes | None) -> Entries:
        first = 0 if after_key is None else number_at_end(after_key)
        for n, step in enumerate(item.steps[first:], first + 1):
            yield prefix + key(n), (n, step)

    return page(MOST_STEPS, call.params.text("cursor"), prefix, entries)


def _step_json(n: int, step: Step) -> Json:
    members = _with_time(step)
    at, event = members.pop("at"), members.pop("event")
    states = {"from": members.pop("before"), "to": members.pop("after")}
    return {"n": n, "at": at, "event": event, **states, **members}


def _with_time(row: Any) -> Json:
    """Return the members of a named tuple in their JSON form."""
    members: Json = {**row._asdict(), "at": iso_ms(row.at)}
    if "checks" in members:
        members["checks"] = [check._asdict() for check in row.checks]
    return members


def links_of(view: RowReader, node: str) -> Iterator[Link]:
    """Yield the edges of a node: first those to what it came of."""
    ways = ((Direction.ANCESTORS, "out"), (Direction.DESCENDANTS, "in"))
    return chain.from_iterable(
        (Link(step.link.relation, direction, step.ahead) for step in steps(view, node, way))
        for way, direction in ways
    )


def trace_of(view: ReadOnlyStore, node: str) -> str | None:
    """Return the id of the trace in which a node happened, by its own edge."""
    traces = steps(view, node, Direction.ANCESTORS, _SAME_TRACE)
    return next((step.ahead.removeprefix(_TRACE) for step in traces), None)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/things/{node}",
        "get_thing",
        Query(thing, past=past),
        "one thing of any protocol, by its node of the lineage graph: its state, and how it came"
        " there",
        THING_PARAMS,
        "Thing",
    ),
)
