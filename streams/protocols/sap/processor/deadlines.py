"""A deadline that passes ends its task, whoever notices first: its timer, or the next record.

Source: SAP spec, 5.1 (Overdue) and Clarification 10.
"""

from __future__ import annotations

from streams.protocols.sap.processor import judging, outcomes, publishing
from streams.protocols.sap.processor.case import DEADLINE, Case
from streams.protocols.sap.processor.outcomes import Answer


def arm(case: Case) -> None:
    """Fires one millisecond after the last one that is in time."""
    case.scene.set_timer(case.accepted["deadlineAt"] + 1, DEADLINE, case.task_id)


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
