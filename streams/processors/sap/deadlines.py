"""A deadline that passes ends its task, whoever notices first: its timer, or the next record.

Source: SAP spec, 5.1 (Overdue) and Clarification 10.
"""

from __future__ import annotations

from streams.engine.processor import Timer
from streams.processors.sap import judging, outcomes, publishing
from streams.processors.sap.case import DEADLINE, Case
from streams.processors.sap.outcomes import Answer

_TRACEPARENT_BYTES = 128
"""W3C's has 55; a longer one is none, and is not kept with a timer."""


def arm(case: Case) -> None:
    """Fires one millisecond after the last one that is in time."""
    deadline_at, scene = case.accepted["deadlineAt"], case.scene
    parent = scene.traceparent
    data = {}
    if parent is not None and len(parent) <= _TRACEPARENT_BYTES:
        data["traceparent"] = parent.decode("latin-1")
    scene.work.set_timer(Timer(deadline_at + 1, DEADLINE, case.task_id, data))


def expire(case: Case) -> None:
    """The TIMEOUT of an open task."""
    error = outcomes.timeout(case.row["deadline"], case.state)
    answer = Answer("FAILED", "deadline_passed", judging.unevaluated(case), error)
    publishing.publish(case, answer)


def expire_overdue(case: Case) -> None:
    """Before a record that came too late is judged."""
    if case.overdue:
        expire(case)
        case.save()
