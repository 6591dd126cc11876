"""`GET /v1/traces/{trace_id}`: the things of all protocols that came of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from schemas.formats import parse_ms
from streams.api.route import Call, Query, Route
from streams.api.things import Ids, Step, Thing, ThingQuery, iso_or_none, unknown_node
from streams.errors import NotFound
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery
from streams.routes.thing_kinds import KINDS
from streams.view_store.graph.index import Direction, Link, edges_into, steps
from streams.view_store.graph.until import EdgesUntil
from streams.view_store.graph.walk import Truncation, Walk
from streams.views.reads import RowReader
from topology.lineage import kind_of, node_names

Json = dict[str, Any]
MOST_NODES = 2000
MOST_DEPTH = 1000
MOST_EDGES = 200_000
PARENT_RELATIONS = ("child_of", "part_of", "answers")
"""The relations that make one thing a part of another, the closest first."""


def trace(call: Call) -> Json:
    """Return what came of a trace, breadth first.  Raises NotFound."""
    trace_id = call.ids["trace_id"]
    until = call.now if call.params.text("as_of") is not None else None
    view: RowReader = call.view if until is None else EdgesUntil(call.view, until)
    start = [name for name in node_names(f"trace:{trace_id}") if _is_named(view, name)]
    if not start:
        raise unknown_node(f"trace:{trace_id}")
    reached, cut = _walk(view, start)
    parents = _parents(view, reached)
    read = partial(_item, call, trace_id, until)
    items = [{**read(node), "parent": parents.get(node)} for node in reached]
    return {"trace": trace_id, "items": items, "cut": None if cut is None else cut._asdict()}


def _is_named(view: RowReader, node: str) -> bool:
    return any(True for _ in steps(view, node, Direction.DESCENDANTS))


def _walk(view: RowReader, start: Sequence[str]) -> tuple[dict[str, Link], Truncation | None]:
    """Return the nodes in the order in which the walk reaches them, each by its first edge."""
    reached: dict[str, Link] = {}
    walk = Walk(view, start, (Direction.DESCENDANTS,), MOST_DEPTH, MOST_EDGES)
    for _, link in walk:
        if link.source in reached or link.source in start:
            continue
        if len(reached) == MOST_NODES:
            return reached, Truncation("size", MOST_NODES)
        reached[link.source] = link
    return reached, walk.cut


def _parents(view: RowReader, reached: Mapping[str, Link]) -> dict[str, str]:
    """Return the thing that each of these is a part of, if that is among them; without cycles."""
    parents: dict[str, str] = {}
    for node, link in reached.items():
        for parent in (*_wholes(view, node), link.target):
            if parent in reached and node not in _line(parents, parent):
                parents[node] = parent
                break
    return parents


def _wholes(view: RowReader, node: str) -> Iterator[str]:
    for relation in PARENT_RELATIONS:
        yield from (step.ahead for step in steps(view, node, Direction.ANCESTORS, relation))


def _line(parents: Mapping[str, str], node: str) -> list[str]:
    """Return a node and its parents, up to the first."""
    line = [node]
    while (parent := parents.get(line[-1])) is not None:
        line.append(parent)
    return line


def _item(call: Call, trace_id: str, until: int | None, node: str) -> Json:
    thing = _thing(call, node, trace_id)
    taken = [] if thing is None else _steps_until(thing, until)
    ruling = next((step for step in taken if step.verdict is not None), None)
    is_whole = thing is not None and len(taken) == len(thing.steps)
    return {
        "node": node,
        "protocol": node.partition(":")[0],
        "kind": kind_of(node),
        "title": node if thing is None else thing.title,
        "state": taken[-1].after if taken else None,
        "verdict": None if ruling is None else ruling.verdict,
        "rule": None if ruling is None else ruling.rule,
        "started_at": iso_or_none(thing.started_at if thing else None),
        "ended_at": iso_or_none(thing.ended_at if thing and is_whole else None),
    }


def _thing(call: Call, node: str, trace_id: str) -> Thing | None:
    """Return the thing of a node; of several the one whose session is the trace, else the first."""
    kind = kind_of(node)
    query = KINDS.get(kind)
    candidates = [] if query is None else query.find(call.view, node.removeprefix(f"{kind}:"), None)
    if query is None or not candidates:
        return None
    same = [ids for ids in candidates if ids.get("session_id") == trace_id]
    try:
        return query.read(replace(call, ids=(same or candidates)[0]))
    except NotFound:
        return None


def _steps_until(thing: Thing, until: int | None) -> Sequence[Step]:
    if until is None:
        return thing.steps
    return [step for step in thing.steps if step.at <= until]


def _same_rows(query: AsOfQuery) -> Rows:
    """Hide no row: edges and steps have their times."""
    return {}


def _find(view: RowReader, trace_id: str, session_id: str | None) -> list[Ids]:
    return [{"trace_id": trace_id}]


def _thing_of_trace(call: Call) -> Thing:
    """Return a trace as a thing.  Raises NotFound."""
    trace_id, content = call.ids["trace_id"], trace(call)
    times = [each["started_at"] for each in content["items"] if each["started_at"] is not None]
    return Thing(
        node=f"trace:{trace_id}",
        title=f"trace {trace_id}",
        state=None,
        terminal=False,
        machine=None,
        api=f"/v1/traces/{quote(trace_id, safe='')}",
        details=lambda: content,
        steps=(),
        trace=trace_id,
        started_at=parse_ms(min(times)) if times else None,
    )


TRACE = ThingQuery(
    _thing_of_trace,
    _find,
    _same_rows,
    rows=lambda ids: [edges_into(each) for each in node_names(f"trace:{ids['trace_id']}")],
)
ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/traces/{trace_id}",
        "get_trace",
        Query(trace, past=_same_rows),
        "what came of a trace in all protocols, breadth first, each thing with its parent",
        answer="TraceThings",
    ),
)
