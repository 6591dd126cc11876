"""Rows by which edges are found from either end.

| key                              | value                                                 |
|----------------------------------|-------------------------------------------------------|
| graph out, from, relation, to    | time and key of the edge's row, of where it came first |
| graph in, to, relation, from     | empty                                                 |

An edge that was written more than once is one row: that of its first place (time, partition,
offset), in whatever order the partitions are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from schemas.projection import Projection
from streams.views.changes import Changes
from streams.views.keys import key, text_key, texts_in
from streams.views.reads import Kept
from topology.core import LINEAGE_EDGES

EDGES = Projection(LINEAGE_EDGES.record or "", ("from_node", "relation", "to_node", "at", "cause"))
_OUT, _IN = key("graph out"), key("graph in")
_PLACE = 16
"""Bytes at the end of an edge's row key: partition and offset."""


class Way(StrEnum):
    """Along an edge: to what its node came of, or back to what came of its node."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Link(NamedTuple):
    """An edge by what makes it: the names of its nodes and what lies between."""

    source: str
    relation: str
    target: str

    @property
    def place(self) -> bytes:
        """Of the row that leads to the edge's own."""
        return _OUT + b"".join(map(text_key, self))


class Step(NamedTuple):
    """An edge as seen from one of its ends.

    ahead: the node at the other.  order: bytes that sort steps by node, relation and other node.
    """

    link: Link
    ahead: str
    order: bytes


def note(edges: Iterable[tuple[Mapping[str, Any], bytes]], rows: Changes) -> None:
    """Index edges; each with the key of its own row."""
    first: dict[bytes, tuple[bytes, bytes]] = {}
    for edge, row_key in edges:
        source, target = text_key(edge["from_node"]), text_key(edge["to_node"])
        relation = key(edge["relation"])
        place, row = _OUT + source + relation + target, key(edge["at"]) + row_key
        other = first.get(place)
        if other is None or _when(row) < _when(other[0]):
            first[place] = row, _IN + target + relation + source
    rows.load(first)
    for place, (row, back) in first.items():
        known = rows.read(place)
        if known is None:
            rows[back] = b""
        if known is None or _when(row) < _when(known):
            rows[place] = row


def _when(row: bytes) -> tuple[bytes, bytes]:
    return row[:8], row[-_PLACE:]


def steps(view: Kept, node: str, way: Way, only: str | None = None) -> Iterator[Step]:
    """The edges of a node on that side, by relation and other node.  only: of this relation."""
    index = _OUT if way is Way.ANCESTORS else _IN
    own = index + text_key(node)
    for place, _ in view.scan(own if only is None else own + text_key(only)):
        relation, ahead = texts_in(place[len(own) :])
        ends = (node, ahead) if way is Way.ANCESTORS else (ahead, node)
        yield Step(Link(ends[0], relation, ends[1]), ahead, place[len(index) :])


def edges_of(view: Kept, links: Iterable[Link]) -> list[bytes]:
    """LineageEdge of each, as it was written first."""
    places = view.get_many([link.place for link in links])
    edges = view.get_many([place[8:] for place in places if place is not None])
    return [edge for edge in edges if edge is not None]
