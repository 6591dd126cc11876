"""The routes of the lineage graph of all protocols (APC guide, 6.3)."""

from __future__ import annotations

from typing import Any

from streams.api.route import Call, Query, Route
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery
from streams.view_store import graph


def _walk(call: Call) -> Any:
    """Return a page of the graph; with `as_of` without the edges that were written later."""
    until = call.now if call.params.text("as_of") is not None else None
    return graph.lineage_graph(call.view, call.params, until=until)


def _same_rows(query: AsOfQuery) -> Rows:
    """Hide no row: edges have their times."""
    return {}


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/lineage/graph",
        "walk_lineage",
        Query(_walk, past=_same_rows),
        "what a node of any protocol came of, what came of it, and what a retraction reaches",
        graph.GRAPH_PARAMS,
        "LineageGraph",
    ),
)
