"""Breadth-first traversal of the lineage graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from streams.view_store.graph.index import Direction, Link, Step, steps
from streams.views.keys import key
from streams.views.reads import RowReader

_CHUNK = 1000
"""The number of a node's edges that one scan reads: no scan is open while a walk is suspended."""


class Truncation(NamedTuple):
    """The limit that truncated a walk, and its value."""

    by: Literal["depth", "size"]
    bound: int


class _Frontier:
    """The nodes reached in one direction.  nodes: those of the last level, by name."""

    def __init__(self, way: Direction, start: Collection[str]) -> None:
        self.way = way
        self.seen = set(start)
        self.nodes = sorted(self.seen)


class Walk:
    """All edges that are reachable from `start`, each once.

    depth: maximum number of edges between a node and the start.  size: maximum number of edges.
    stops: relations behind which the walk does not go on.
    view: may be replaced by a later state of the same view between two edges.
    distance: of each node met so far; it is 0 at the start.  count: of the edges so far.
    cut: why edges are missing, None if none is; known after the last edge.
    """

    def __init__(
        self,
        view: RowReader,
        start: Collection[str],
        ways: Sequence[Direction],
        depth: int,
        size: int,
        stops: Collection[str] = (),
    ) -> None:
        self.view = view
        self._frontiers = [_Frontier(way, start) for way in ways]
        self._depth = depth
        self._size = size
        self._stops = stops
        self.distance = dict.fromkeys(start, 0)
        self.count = 0
        self.cut: Truncation | None = None

    def __iter__(self) -> Iterator[tuple[bytes, Link]]:
        """Yield edges with sort keys, by distance, direction, node, relation and other node."""
        yielded: set[Link] = set()
        for level in range(1, self._depth + 1):
            if not any(frontier.nodes for frontier in self._frontiers):
                return
            for number, frontier in enumerate(self._frontiers):
                for order, link in self._level(frontier, level, key(level, number)):
                    if link in yielded:
                        continue
                    if self.count == self._size:
                        self.cut = Truncation("size", self._size)
                        return
                    if len(self._frontiers) > 1:  # one direction meets each edge once
                        yielded.add(link)
                    self.count += 1
                    yield order, link
        if any(self._has_more(frontier) for frontier in self._frontiers):
            self.cut = Truncation("depth", self._depth)

    def _level(
        self, frontier: _Frontier, level: int, prefix: bytes
    ) -> Iterator[tuple[bytes, Link]]:
        next_nodes = []
        for node in frontier.nodes:
            for link, ahead, order in self._steps(node, frontier.way):
                self.distance.setdefault(ahead, level)
                yield prefix + order, link
                if ahead not in frontier.seen and link.relation not in self._stops:
                    frontier.seen.add(ahead)
                    next_nodes.append(ahead)
        frontier.nodes = sorted(next_nodes)

    def _has_more(self, frontier: _Frontier) -> bool:
        return any(True for node in frontier.nodes for _ in steps(self.view, node, frontier.way))

    def _steps(self, node: str, way: Direction) -> Iterator[Step]:
        """Yield the edges of a node; no scan is open meanwhile, and a new view is read at once."""
        last: Step | None = None
        while True:
            view = self.view
            chunk = list(islice(steps(view, node, way, last=last), _CHUNK))
            for last in chunk:
                yield last
                if self.view is not view:
                    break
            else:
                if len(chunk) < _CHUNK:
                    return
