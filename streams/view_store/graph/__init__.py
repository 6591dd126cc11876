"""The lineage graph of all protocols: `lineage.edges`, indexed in both directions."""

from streams.view_store.graph.index import EDGES, index_edges
from streams.view_store.graph.queries import GRAPH_PARAMS, lineage_graph

__all__ = ["EDGES", "GRAPH_PARAMS", "index_edges", "lineage_graph"]
