"""Edges of the lineage graph that turns and escalations give rise to.

Source: SAOP/RTES spec, 5.5.
"""

from __future__ import annotations

from streams.engine.headers import trace_id
from streams.engine.processor import Work
from streams.processing import graph
from streams.protocols.saop.processor.inbound import Turn


def task_node(task_id: str) -> str:
    return f"saop:task:{task_id}"


def turn_node(task_id: str, turn_index: int) -> str:
    return f"saop:turn:{task_id}/{turn_index}"


def escalation_node(escalation_id: str) -> str:
    return f"saop:escalation:{escalation_id}"


def of_turn(task_id: str, before: int | None, turn: Turn, at: int, work: Work) -> None:
    """What a logged turn is part of, follows, and was made in."""
    own = turn_node(task_id, turn.value["turn_index"])
    edges = [("part_of", task_node(task_id))]
    if before is not None:
        edges.append(("derived_from", turn_node(task_id, before)))
    trace = trace_id(turn.traceparent)
    if trace is not None:
        edges.append(("same_trace", f"trace:{trace}"))
    for relation, target in edges:
        graph.draw((own, relation, target), at, turn.cause, work, turn.traceparent)
