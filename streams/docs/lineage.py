"""The page on the lineage graph."""

from __future__ import annotations

from streams.docs.markdown import code, grid
from streams.view_store.graph.queries import GRAPH_PARAMS, MOST_EDGES, MOST_RETRACTIONS
from topology.lineage import NODE_KINDS, RELATIONS


def lineage_page() -> str:
    kinds = [(code(k.form), k.meaning, "yes" if k.escaped else "") for k in NODE_KINDS]
    parameters = [(code(p.name), p.meaning, p.default or "") for p in GRAPH_PARAMS]
    return (
        "# Lineage graph\n\n"
        "Processors write the edges of the graph to `lineage.edges`. An edge leads from the later\n"
        "node to the one it results from, names or is about: follow edges forward for ancestors,\n"
        "backward for descendants. An edge that was written more than once is shown once, with\n"
        "the `at` and the `cause` of the first write.\n\n"
        "## Nodes\n\n"
        "UUIDs are in lower case. Where ids are escaped, a `/` in one is `%2F` and a `%` is\n"
        "`%25`. A query percent-encodes the whole name once more.\n\n"
        f"{grid(('name', 'stands for', 'ids escaped'), kinds)}\n"
        "A trace id of 128 bits is written with or without hyphens. A query for either form\n"
        "begins at both.\n\n"
        "## Relations\n\n"
        f"{grid(('relation', 'the later one'), ((code(r.name), r.meaning) for r in RELATIONS))}\n"
        "## Query\n\n"
        "`GET /v1/lineage/graph`, and `headrace lineage`, which also draws.\n\n"
        f"{grid(('parameter', 'meaning', 'default'), parameters)}\n"
        "`items` are edges: by distance from the first node, then ancestors before descendants,\n"
        "then by names. `nodes` are the ends of these edges, each with its `kind`, its `distance`\n"
        f"and what it is `retracted_by` (the first {MOST_RETRACTIONS} by name). The union of the\n"
        "pages is the graph; a cycle is shown once around.\n\n"
        "A blast radius begins at distance 0 with what was retracted. The retraction and what\n"
        "replaces the retracted node are shown, but not the descendants of these two.\n\n"
        "`cut` on the last page (`next` is null) says whether the graph goes on: null when it\n"
        f'is whole, `{{"by": "depth", …}}` at the depth asked for, `{{"by": "size", …}}` after\n'
        f"{MOST_EDGES:,} edges. A node that no edge names gets 404 with the rule `node_unknown`.\n"
    )
