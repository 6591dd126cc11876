"""The query `GET /v1/lineage/graph`: ancestors, descendants and blast radius of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice

from streams.errors import NotFound
from streams.view_store.graph.index import Direction, Link, edges_of, steps
from streams.view_store.graph.until import EdgesUntil
from streams.view_store.graph.walk import Walk
from streams.views.keys import key
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit
from streams.views.reads import ReadOnlyStore, RowReader
from streams.views.values import Json, json_of
from topology.core import LINEAGE_EDGES
from topology.lineage import REPLACES, RETRACTS, kind_of, node_names

MOST_EDGES = 200_000
MOST_RETRACTIONS = 20
BOTH, BLAST_RADIUS = "both", "blast_radius"
WAYS: Mapping[str, Sequence[Direction]] = {
    Direction.ANCESTORS.value: (Direction.ANCESTORS,),
    Direction.DESCENDANTS.value: (Direction.DESCENDANTS,),
    BOTH: (Direction.ANCESTORS, Direction.DESCENDANTS),
    BLAST_RADIUS: (Direction.DESCENDANTS,),
}
DEPTH = 10
GRAPH_PARAMS = (
    Parameter(
        "node",
        "where to begin",
        low=1,
        required=True,
        example="apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730",
    ),
    Parameter(
        "direction",
        "`ancestors`: what the node came of; `descendants`: what came of it; `both` (the default):"
        " the one and the other; `blast_radius`: what came of all that the node retracts, or of"
        " the node itself if it retracts nothing",
        choices=tuple(WAYS),
    ),
    Parameter(
        "depth", "most edges between a node and the first", ValueForm.WHOLE, 1, default=DEPTH
    ),
    limit(1000, 10_000),
    CURSOR,
)


class _Run:
    """A walk that goes on from page to page, so that no edge is walked twice."""

    def __init__(self, walk: Walk, prefix: bytes) -> None:
        self.walk = walk
        self._edges = ((prefix + order, link) for order, link in walk)
        self._last: list[tuple[bytes, Link]] = []

    def entries(self, after_key: bytes | None) -> Entries:
        """Yield the edges after a key; first the one with which the page before has ended."""
        for entry in chain(self._last, self._edges):
            self._last = [entry]
            if after_key is None or entry[0] > after_key:
                yield entry


def lineage_graph(
    view: ReadOnlyStore, params: QueryParams, size: int = MOST_EDGES, until: int | None = None
) -> Json:
    """Return a page of edges by distance, and the nodes at their ends.

    size: maximum number of edges on all pages.  until: only edges that were written by then; ms
    since the epoch.  Raises NotFound if no edge names the node.
    """
    node, depth = params.required("node"), params.number("depth") or DEPTH
    direction = params.text("direction") or BOTH
    edges: RowReader = view if until is None else EdgesUntil(view, until)
    start = _start_nodes(edges, node, direction)
    prefix = key("graph", node, direction, depth, *(() if until is None else (until,)))
    cursor = params.text("cursor")
    run = None if cursor is None else view.suspended.take(cursor)
    if run is None:
        stops = (REPLACES, RETRACTS) if direction == BLAST_RADIUS else ()
        run = _Run(Walk(edges, start, WAYS[direction], depth, size, stops), prefix)
    walk: Walk = run.walk
    walk.view = edges
    page = page_of(params, prefix, run.entries)
    if page["next"] is not None:
        view.suspended.put(page["next"], run, walk.count)
    links: list[Link] = page["items"]
    first = start if cursor is None else ()
    names = {*first, *chain.from_iterable((link.source, link.target) for link in links)}
    return {
        "node": node,
        "direction": direction,
        "depth": depth,
        "nodes": [
            _node_json(edges, name, walk.distance[name])
            for name in sorted(names, key=lambda name: (walk.distance[name], name))
        ],
        "items": [json_of(LINEAGE_EDGES, row) for row in edges_of(edges, links)],
        "next": page["next"],
        "cut": None if walk.cut is None else walk.cut._asdict(),
    }


def _start_nodes(view: RowReader, node: str, direction: str) -> list[str]:
    """Return the nodes where the walk begins.  Raises NotFound."""
    start = [name for name in node_names(node) if _has_edges(view, name)]
    if not start:
        raise NotFound(f"no edge of the lineage graph names {node}", "node_unknown")
    if direction == BLAST_RADIUS:
        targets = [step.ahead for step in steps(view, node, Direction.ANCESTORS, RETRACTS)]
        return targets or start
    return start


def _has_edges(view: RowReader, node: str) -> bool:
    return any(True for way in Direction for _ in islice(steps(view, node, way), 1))


def _node_json(view: RowReader, name: str, distance: int) -> Json:
    retractions = steps(view, name, Direction.DESCENDANTS, RETRACTS)
    return {
        "node": name,
        "kind": kind_of(name),
        "distance": distance,
        "retracted_by": [step.ahead for step in islice(retractions, MOST_RETRACTIONS)],
    }
