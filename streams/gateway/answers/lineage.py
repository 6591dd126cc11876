"""Answers about the lineage graph."""

from __future__ import annotations

from typing import Literal

from streams.gateway.answers.shapes import Answer, Count, EdgeRow


class GraphNode(Answer):
    node: str
    kind: str
    distance: Count
    retracted_by: list[str]


class GraphCut(Answer):
    by: Literal["depth", "size"]
    bound: Count


class LineageGraph(Answer):
    node: str
    direction: Literal["ancestors", "descendants", "both", "blast_radius"]
    depth: Count
    nodes: list[GraphNode]
    items: list[EdgeRow]
    next: str | None
    cut: GraphCut | None
