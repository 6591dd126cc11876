"""A page of the graph in which equivalent spellings of a node are one node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.lineage import node_names

_END_MEMBERS = ("from_node", "to_node")


def merge_spellings(page: Mapping[str, Any]) -> dict[str, Any]:
    """Merge equivalent nodes of a page, for drawings.

    The edges on the log keep the names that they were written with.
    """
    nodes = {_canonical_name(node["node"]): node for node in page["nodes"]}
    edges = [
        {**edge, **{end: _canonical_name(edge[end]) for end in _END_MEMBERS}}
        for edge in page["items"]
    ]
    return {**page, "nodes": [{**nodes[name], "node": name} for name in nodes], "items": edges}


def _canonical_name(node: str) -> str:
    return min(node_names(node))
