"""A page of the graph with one name for each node: a trace that is written in two ways is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.lineage import spellings

_ENDS = ("from_node", "to_node")


def joined(page: Mapping[str, Any]) -> dict[str, Any]:
    """For drawings: the edges on the log keep the names that they were written with."""
    nodes = {_name(node["node"]): node for node in page["nodes"]}
    edges = [{**edge, **{end: _name(edge[end]) for end in _ENDS}} for edge in page["items"]]
    return {**page, "nodes": [{**nodes[name], "node": name} for name in nodes], "items": edges}


def _name(node: str) -> str:
    return min(spellings(node))
