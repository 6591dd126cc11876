"""From a node along the edges, the nearest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from streams.view_store.graph.index import Link, Way, steps
from streams.views.keys import key
from streams.views.reads import Kept


class Cut(NamedTuple):
    """Which bound left edges out, and how much it is."""

    by: Literal["depth", "size"]
    bound: int


class _Cone:
    """What was reached in one direction.  edge: the nodes reached last, by name."""

    def __init__(self, way: Way, start: Collection[str]) -> None:
        self.way = way
        self.seen = set(start)
        self.edge = sorted(self.seen)


class Walk:
    """All edges on the ways from `start`, each once.

    depth: most edges between a node and the start.  size: most edges in all.  stops: relations
    behind which it does not go on.
    distance: of each node met so far; it is 0 at the start.
    cut: why edges are missing, None if none is; known when all were looked at.
    """

    def __init__(
        self,
        view: Kept,
        start: Collection[str],
        ways: Sequence[Way],
        depth: int,
        size: int,
        stops: Collection[str] = (),
    ) -> None:
        self._view = view
        self._cones = [_Cone(way, start) for way in ways]
        self._depth = depth
        self._size = size
        self._stops = stops
        self.distance = dict.fromkeys(start, 0)
        self.cut: Cut | None = None

    def __iter__(self) -> Iterator[tuple[bytes, Link]]:
        """Edges by distance, direction, node, relation and other node; bytes sort them so."""
        shown: set[Link] = set()
        for level in range(1, self._depth + 1):
            if not any(cone.edge for cone in self._cones):
                return
            for number, cone in enumerate(self._cones):
                for order, link in self._level(cone, level, key(level, number)):
                    if link in shown:
                        continue
                    if len(shown) == self._size:
                        self.cut = Cut("size", self._size)
                        return
                    shown.add(link)
                    yield order, link
        if any(self._goes_on(cone) for cone in self._cones):
            self.cut = Cut("depth", self._depth)

    def _level(self, cone: _Cone, level: int, prefix: bytes) -> Iterator[tuple[bytes, Link]]:
        reached = []
        for node in cone.edge:
            for link, ahead, order in steps(self._view, node, cone.way):
                self.distance.setdefault(ahead, level)
                yield prefix + order, link
                if ahead not in cone.seen and link.relation not in self._stops:
                    cone.seen.add(ahead)
                    reached.append(ahead)
        cone.edge = sorted(reached)

    def _goes_on(self, cone: _Cone) -> bool:
        return any(True for node in cone.edge for _ in steps(self._view, node, cone.way))
