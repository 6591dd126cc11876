"""Edges of the lineage graph that sessions, tasks and rewinds give rise to (spec 5.5)."""

from __future__ import annotations

from hashlib import sha256

from streams.engine.processor import Work
from topology.topics import LINEAGE_EDGES


def task_node(task_id: str) -> str:
    return f"saop:task:{task_id}"


def session_node(session_id: str) -> str:
    return f"saop:session:{session_id}"


def rewind_node(rewind_id: str) -> str:
    return f"saop:rewind:{rewind_id}"


def draw(
    source: str, relation: str, target: str, at: int, traceparent: bytes | None, work: Work
) -> None:
    """Send one edge, caused by the record that `work` names."""
    edge_id = sha256(f"{source}|{relation}|{target}".encode()).hexdigest()
    edge = {
        "edge_id": edge_id,
        "from_node": source,
        "relation": relation,
        "to_node": target,
        "at": at,
        "cause": work.cause,
    }
    work.send(
        LINEAGE_EDGES,
        edge_id,
        edge,
        id=edge_id,
        at=at,
        cause=work.cause,
        traceparent=traceparent,
    )
