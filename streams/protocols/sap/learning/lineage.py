"""Edges of the lineage graph that heuristics and playbooks give rise to.

Source: SAP spec, 5.1.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue, Work
from streams.processing import graph


def of_heuristics(row: AvroValue, at: int, cause: str, work: Work) -> None:
    """A version after the first replaces the one before."""
    if row["version"] > 1:
        node = f"sap:heuristics:{row['capability']}/"
        edge = (f"{node}{row['version']}", "replaces", f"{node}{row['version'] - 1}")
        graph.draw(edge, at, cause, work)


def of_playbook(key: str, row: AvroValue, at: int, cause: str, work: Work) -> None:
    """A playbook derives from its best task."""
    if row["bestTaskId"] is not None:
        edge = (f"sap:playbook:{key}", "derived_from", f"sap:task:{row['bestTaskId']}")
        graph.draw(edge, at, cause, work)
