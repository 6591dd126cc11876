"""The lineage graph of all protocols: `lineage.edges`, indexed in both directions and walked."""

from streams.views.graph.index import EDGES, note
from streams.views.graph.queries import GRAPH_PARAMS, lineage_graph

__all__ = ["EDGES", "GRAPH_PARAMS", "lineage_graph", "note"]
