"""The index rows that find edges from either end.

| key                              | value                                                 |
|----------------------------------|-------------------------------------------------------|
| graph out, from, relation, to    | time and key of the row of the edge's first record     |
| graph in, to, relation, from     | empty                                                 |

An edge that was written more than once is one row: that of its first position (time, partition,
offset), in whatever order the partitions are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from schemas.projection import Projection
from streams.views.changes import WriteBatch
from streams.views.keys import after, key, text_key, texts_in
from streams.views.reads import RowReader
from topology.core import LINEAGE_EDGES

EDGES = Projection(LINEAGE_EDGES.record or "", ("from_node", "relation", "to_node", "at", "cause"))
OUT, IN = key("graph out"), key("graph in")
_POSITION_LENGTH = 16
"""Length in bytes of the partition and offset at the end of an edge's row key."""


class Direction(StrEnum):
    """The direction of a walk: from a node to its causes, or from a node to its effects."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Link(NamedTuple):
    """An edge's identity: the names of its nodes, and the relation."""

    source: str
    relation: str
    target: str

    @property
    def index_key(self) -> bytes:
        """Return the key of the index row that points to the edge's own row."""
        return OUT + b"".join(map(text_key, self))


class Step(NamedTuple):
    """An edge as seen from one of its ends.

    ahead: the node at the other end.  order: bytes that sort steps by node, relation and other
    node.
    """

    link: Link
    ahead: str
    order: bytes


def index_edges(edges: Iterable[tuple[Mapping[str, Any], bytes]], rows: WriteBatch) -> None:
    """Index edges; each comes with the key of its own row."""
    first: dict[bytes, tuple[bytes, bytes]] = {}
    for edge, row_key in edges:
        source, target = text_key(edge["from_node"]), text_key(edge["to_node"])
        relation = key(edge["relation"])
        index_key, row = OUT + source + relation + target, key(edge["at"]) + row_key
        earlier = first.get(index_key)
        if earlier is None or _first_position(row) < _first_position(earlier[0]):
            first[index_key] = row, IN + target + relation + source
    rows.load(first)
    for index_key, (row, back) in first.items():
        stored = rows.read(index_key)
        if stored is None:
            rows[back] = b""
        if stored is None or _first_position(row) < _first_position(stored):
            rows[index_key] = row


def _first_position(row: bytes) -> tuple[bytes, bytes]:
    return row[:8], row[-_POSITION_LENGTH:]


def steps(
    view: RowReader,
    node: str,
    way: Direction,
    only: str | None = None,
    last: Step | None = None,
) -> Iterator[Step]:
    """Yield the edges of a node in one direction, by relation and other node.

    only: yield edges of this relation only.  last: begin behind this step.
    """
    index = OUT if way is Direction.ANCESTORS else IN
    prefix = index + text_key(node)
    start = None if last is None else after(index + last.order)
    for index_key, _ in view.scan(prefix if only is None else prefix + text_key(only), start):
        relation, ahead = texts_in(index_key[len(prefix) :])
        ends = (node, ahead) if way is Direction.ANCESTORS else (ahead, node)
        yield Step(Link(ends[0], relation, ends[1]), ahead, index_key[len(index) :])


def edges_into(node: str) -> bytes:
    """Return the beginning of the keys of the index rows of all edges to a node."""
    return IN + text_key(node)


def edges_of(view: RowReader, links: Iterable[Link]) -> list[bytes]:
    """Return the first LineageEdge record of each link."""
    index_rows = view.get_many([link.index_key for link in links])
    edges = view.get_many([index_row[8:] for index_row in index_rows if index_row is not None])
    return [edge for edge in edges if edge is not None]
