"""Edges of the lineage graph that turns and escalations give rise to.

Source: SAOP/RTES spec, 5.5.
"""

from __future__ import annotations

from hashlib import sha256

from streams.engine.headers import trace_id
from streams.engine.processor import Work
from streams.processors.saop.inbound import Turn
from topology.topics import LINEAGE_EDGES


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
        draw((own, relation, target), at, turn.cause, turn.traceparent, work)


def draw(
    edge: tuple[str, str, str], at: int, cause: str, traceparent: bytes | None, work: Work
) -> None:
    """Send one edge: from, relation, to."""
    edge_id = sha256("|".join(edge).encode()).hexdigest()
    source, relation, target = edge
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
