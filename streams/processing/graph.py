"""The lineage graph that all processors draw, each its own part."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from streams.engine.processor import ProcessorContext
from topology.core import LINEAGE_EDGES


class LineageEdge(NamedTuple):
    """How one node is related to another; nodes by name."""

    source: str
    relation: str
    target: str


def draw(
    edge: LineageEdge | tuple[str, str, str],
    at: int,
    cause: str,
    work: ProcessorContext,
    traceparent: bytes | None = None,
) -> None:
    """Send one edge; drawn again it is the same.  at: ms.  cause: of the decision that draws it."""
    source, relation, target = edge
    edge_id = sha256("|".join(edge).encode()).hexdigest()
    value = {
        "edge_id": edge_id,
        "from_node": source,
        "relation": relation,
        "to_node": target,
        "at": at,
        "cause": cause,
    }
    work.send(
        LINEAGE_EDGES, edge_id, value, id=edge_id, at=at, cause=cause, traceparent=traceparent
    )
