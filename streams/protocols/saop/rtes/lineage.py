"""Edges of the lineage graph that sessions, tasks and rewinds give rise to (spec 5.5)."""

from __future__ import annotations

from streams.engine.processor import Work
from streams.processing import graph


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
    graph.draw((source, relation, target), at, work.cause, work, traceparent)
