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
        "Processors write to `lineage.edges` what came of what. An edge leads from what came\n"
        "later to what it came of, names or is about: ancestors of a node lie along the edges,\n"
        "descendants against them. An edge that was written more than once is shown once, with\n"
        "the `at` and the `cause` of the first time.\n\n"
        "## Nodes\n\n"
        "UUIDs are in lower case. Where ids are escaped, a `/` in one is `%2F` and a `%` is\n"
        "`%25`. A query percent-encodes the whole name once more.\n\n"
        f"{grid(('name', 'stands for', 'ids escaped'), kinds)}\n"
        "A trace id of 128 bits is written with hyphens by some and without by others. Whichever\n"
        "is asked for, the graph begins at both.\n\n"
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
        "replaces the retracted node are shown, but what came of these two is not.\n\n"
        "`cut` on the last page (`next` is null) says whether the graph goes on: null when it\n"
        f'does not, `{{"by": "depth", …}}` at the depth asked for, `{{"by": "size", …}}` after\n'
        f"{MOST_EDGES:,} edges. A node that no edge names gets 404 with the rule `node_unknown`.\n"
    )
