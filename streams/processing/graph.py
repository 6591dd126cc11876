"""The lineage graph; each processor emits the edges of its own part."""

from __future__ import annotations

from typing import NamedTuple


class LineageEdge(NamedTuple):
    """A relation between two nodes, which are given by name."""

    source: str
    relation: str
    target: str
