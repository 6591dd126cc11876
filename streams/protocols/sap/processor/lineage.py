"""Edges of the lineage graph that tasks, outcomes and signals give rise to.

Source: SAP spec, 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.processing.graph import Edge


def accepted(task_id: str, correlation_id: str, parent_id: str | None) -> Iterator[Edge]:
    """Of a task that was taken on; ids in lower case."""
    yield Edge(_task(task_id), "same_trace", f"trace:{correlation_id}")
    if parent_id is not None:
        yield Edge(_task(task_id), "child_of", _task(parent_id))


def outcome(task_id: str, seq: int, cached: tuple[str, int] | None) -> Iterator[Edge]:
    """cached: key and version of the record that answered the task."""
    own = f"sap:outcome:{task_id}/{seq}"
    yield Edge(own, "answers", _task(task_id))
    if cached is not None:
        key, version = cached
        yield Edge(own, "derived_from", f"sap:cache:{key}/{version}")


def signal(signal_id: str, task_id: str) -> Edge:
    return Edge(f"sap:signal:{signal_id}", "evaluates", _task(task_id))


def _task(task_id: str) -> str:
    return f"sap:task:{task_id}"
