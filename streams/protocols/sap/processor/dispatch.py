"""Handing a task to the agent that is to work on it.

Source: SAP spec, 5.2.
"""

from __future__ import annotations

from streams.protocols.sap.processor.case import Case
from topology.sap import SAP_INBOX


def dispatch(case: Case) -> None:
    """The task as it was sent, to the agent named, else to whoever serves the capability."""
    accepted, target = case.accepted, case.row["target"]
    case.row["dispatched"] = True
    heuristics = str(accepted["policy"]["heuristicsVersion"])
    headers = [
        ("headrace-cache-key", accepted["cacheKey"].encode()),
        ("headrace-heuristics", heuristics.encode()),
    ]
    key = target["agentId"] if target["agentId"] is not None else target["capability"]
    case.scene.send(SAP_INBOX, key, case.envelope, case.task_id, headers)
