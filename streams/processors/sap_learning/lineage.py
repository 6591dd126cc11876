"""Edges of the lineage graph that heuristics and playbooks give rise to.

Source: SAP spec, 5.1.
"""

from __future__ import annotations

from hashlib import sha256

from streams.engine.processor import AvroValue, Work
from topology.topics import LINEAGE_EDGES


def of_heuristics(row: AvroValue, at: int, cause: str, work: Work) -> None:
    """A version after the first replaces the one before."""
    if row["version"] > 1:
        node = f"sap:heuristics:{row['capability']}/"
        edge = (f"{node}{row['version']}", "replaces", f"{node}{row['version'] - 1}")
        _draw(edge, at, cause, work)


def of_playbook(key: str, row: AvroValue, at: int, cause: str, work: Work) -> None:
    """A playbook derives from its best task."""
    if row["bestTaskId"] is not None:
        edge = (f"sap:playbook:{key}", "derived_from", f"sap:task:{row['bestTaskId']}")
        _draw(edge, at, cause, work)


def _draw(edge: tuple[str, str, str], at: int, cause: str, work: Work) -> None:
    edge_id = sha256("|".join(edge).encode()).hexdigest()
    names = dict(zip(("from_node", "relation", "to_node"), edge, strict=True))
    value = {"edge_id": edge_id, **names, "at": at, "cause": cause}
    work.send(LINEAGE_EDGES, edge_id, value, id=edge_id, at=at, cause=cause)
