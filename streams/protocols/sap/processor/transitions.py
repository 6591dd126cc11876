"""Every change of a task's state is told to RTES.

Source: SAP spec, 5.1.
"""

from __future__ import annotations

from streams.engine.headers import iso
from streams.protocols.sap.processor.case import Case
from topology.core import RTES_RAW

NONE = "none"
"""The state of a task before its first."""


def report(case: Case, before: str) -> None:
    """Send the TASK_TRANSITION from a state to the one that the task is in now."""
    scene, session_id = case.scene, case.row["correlationId"]
    event_id = scene.next_id()
    transition = {
        "task_id": case.task_id,
        "from_state": before,
        "to_state": case.state,
        "git_hash": None,
        "timestamp": iso(scene.now).decode(),
    }
    event = {
        "event_id": event_id,
        "session_id": session_id,
        "payload": ("headrace.rtes.TaskTransition", transition),
        "origin": "sap",
    }
    scene.send(RTES_RAW, session_id, event, event_id)
