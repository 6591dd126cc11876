"""The routes of the lineage graph of all protocols (APC guide, 6.3)."""

from __future__ import annotations

from streams.api.route import Query, Route
from streams.view_store import graph

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/lineage/graph",
        "walk_lineage",
        Query(lambda call: graph.lineage_graph(call.view, call.params)),
        "what a node of any protocol came of, what came of it, and what a retraction reaches",
        graph.GRAPH_PARAMS,
        "LineageGraph",
    ),
)
