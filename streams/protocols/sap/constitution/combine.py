"""What becomes of an agent's evidence and status once the service has evaluated.

Source: SAP spec, 3.5 (combining) and 3.6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from streams.protocols.sap.constitution.evaluate import Evaluation
from streams.protocols.sap.constitution.shapes import objects, record
from streams.protocols.sap.constitution.words import (
    ALIGNMENTS,
    ESCALATE,
    NON_CONSTITUTIONAL,
    VALID,
    Json,
    worst,
)

AGENT_STATUS, REFUSED, ESCALATED = "agent_status", "alignment_refused", "alignment_escalated"


class Combined(NamedTuple):
    """The evidence of an outcome.  pressureReadings: None where neither side has any."""

    alignment: str
    checks: list[Json]
    violations: list[Json]
    pressureReadings: Json | None


def combine(evaluation: Evaluation | None, evidence: Any, context: Any) -> Combined:
    """evaluation: None where nothing was evaluated.  evidence: constitutionalEvidence as reported.
    context: the Task's constitutionalContext.
    """
    evidence = record(evidence)
    service = evaluation or Evaluation(VALID, [], [], [])
    reported = [item for item in (evidence.get("alignment"),) if item in ALIGNMENTS]
    readings = evidence.get("pressureReadings")
    if readings is None:
        readings = record(context).get("pressure")
    names = {check["principle"] for check in service.checks}
    others = [c for c in objects(evidence.get("policyChecks")) if c.get("principle") not in names]
    own = [v for v in objects(evidence.get("violations")) if v not in service.violations]
    return Combined(
        worst([service.alignment, *reported]),
        [*service.checks, *others],
        [*service.violations, *own],
        readings if isinstance(readings, dict) else None,
    )


_CHANGED = {
    ("SUCCEEDED", ESCALATE): ("ESCALATED", ESCALATED),
    ("SUCCEEDED", NON_CONSTITUTIONAL): ("FAILED", REFUSED),
    ("PARTIAL", NON_CONSTITUTIONAL): ("FAILED", REFUSED),
    ("RUNNING", NON_CONSTITUTIONAL): ("FAILED", REFUSED),
}
"""(reported status, alignment of the service) → status of the outcome and its rule."""


def status_after(status: str, alignment: str) -> tuple[str, str]:
    """The status of the outcome, and the rule that made it."""
    return _CHANGED.get((status, alignment), (status, AGENT_STATUS))
