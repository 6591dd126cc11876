"""The alignment of a task, a result or a cached answer with the constitution.

The service's own evaluation is combined with what the agent has reported.  If these are more
entries than a result may have, the service's come first: all of them, or, if these alone are too
many, the worse ones.  The agent's first entries fill the remaining room.

Source: SAP guide, 2 (lists have at most 256 entries), 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from schemas.sap import map_evidence
from schemas.sap.constants import SEVERITIES
from schemas.sap.shapes import MAX_ITEMS
from streams.protocols.sap.constitution import Constitution, Evaluation, combine, evaluate
from streams.protocols.sap.constitution.checks import (
    NON_CONSTITUTIONAL,
    STATUSES,
    VALID,
)
from streams.protocols.sap.processor.aggregate import TaskAggregate

__all__ = ["NON_CONSTITUTIONAL", "VALID", "AlignmentResult"]

Json = dict[str, Any]


class AlignmentResult(NamedTuple):
    """The alignment of an answer.

    service: the service's own alignment.  combined, checks, violations: with the agent's.
    readings: the pressure that it was decided at.  omitted: by the member's name, how many checks
    and violations are left out, where a result may not have so many.
    """

    service: str
    combined: str
    checks: Sequence[Json] = ()
    violations: Sequence[Json] = ()
    readings: Json | None = None
    steps: Sequence[Any] = ()
    omitted: Mapping[str, int] = MappingProxyType({})


def unevaluated(task: TaskAggregate) -> AlignmentResult:
    """Return the alignment where nothing is evaluated: that of an accepted task."""
    return _combined(None, {}, task)


def of_task(task: TaskAggregate) -> AlignmentResult:
    """Evaluate a task before anybody works on it."""
    evaluation = evaluate(
        "task",
        task.json["constitutionalContext"],
        payload=task.json["payload"],
        policy=task.policy,
        constitution=task.ctx.constitution,
    )
    return _combined(evaluation, {}, task)


def of_result(task: TaskAggregate, result: Json) -> AlignmentResult:
    """Evaluate a result, with what the agent reports in the service's own words."""
    unknown_severity = task.ctx.setting("EVIDENCE_UNKNOWN_SEVERITY")
    evidence = map_evidence(result["constitutionalEvidence"], unknown_severity)
    mapped = {**result, "constitutionalEvidence": evidence}
    evaluation = _evaluate_result(task.json, mapped, task.policy, task.ctx.constitution)
    return _combined(evaluation, evidence, task)


def _evaluate_result(
    task: Json, result: Json, policy: Json, constitution: Constitution
) -> Evaluation | None:
    """Evaluate a result; None if it has nothing to evaluate, and the agent's report counts."""
    phase, evidence = _phase_of(result), result["constitutionalEvidence"]
    if phase is None:
        return None
    return evaluate(
        phase,
        task["constitutionalContext"],
        contract=task.get("outputContract"),
        budget=(task.get("telemetry") or {}).get("budget"),
        output=result.get("output"),
        citations=evidence.get("citations"),
        checks=evidence.get("policyChecks"),
        violations=evidence.get("violations"),
        metrics=result.get("metrics"),
        policy=policy,
        constitution=constitution,
    )


def _phase_of(result: Json) -> str | None:
    if result["status"] == "SUCCEEDED":
        return "final"
    looked_at = result.get("output") is not None or result.get("metrics") is not None
    return "partial" if looked_at else None


def evaluate_record(
    task: Json, record: Mapping[str, Any], policy: Json, constitution: Constitution
) -> Evaluation:
    """Evaluate a cached answer in the context of the task that asks.  record: SapCacheRecord."""
    return evaluate(
        "cached",
        task["constitutionalContext"],
        contract=task.get("outputContract"),
        budget=(task.get("telemetry") or {}).get("budget"),
        output=record["output"],
        citations=record["citations"],
        checks=record["policyChecks"],
        violations=record["violations"],
        policy=policy,
        constitution=constitution,
    )


def of_hit(
    rechecked: Evaluation | None, record: Mapping[str, Any], task: TaskAggregate
) -> AlignmentResult:
    """Return the alignment of a hit.  record: the cached answer.  rechecked: None if it was not."""
    stored = {name: record[name] for name in ("alignment", "policyChecks", "violations")}
    return _combined(rechecked, stored, task)


def _combined(
    evaluation: Evaluation | None, evidence: Mapping[str, Any], task: TaskAggregate
) -> AlignmentResult:
    both = combine(evaluation, evidence, task.json["constitutionalContext"])
    service = Evaluation(VALID, [], [], []) if evaluation is None else evaluation
    checks = _bounded(both.checks, len(service.checks), _badness_of_check)
    violations = _bounded(both.violations, len(service.violations), _badness_of_violation)
    omitted = {
        "policyChecks": len(both.checks) - len(checks),
        "violations": len(both.violations) - len(violations),
    }
    return AlignmentResult(
        service.alignment,
        both.alignment,
        checks,
        violations,
        both.pressureReadings,
        service.steps,
        {name: count for name, count in omitted.items() if count},
    )


def _badness_of_check(check: Json) -> int:
    return STATUSES.index(check["status"])


def _badness_of_violation(violation: Json) -> int:
    return SEVERITIES.index(violation["severity"])


def _bounded(
    items: Sequence[Json], service_count: int, badness: Callable[[Json], int]
) -> list[Json]:
    """Return those that stay, in their order.

    service_count: how many of them, the first, are the service's.
    """
    if service_count <= MAX_ITEMS or len(items) <= MAX_ITEMS:
        return list(items[:MAX_ITEMS])
    worst_first = sorted(range(service_count), key=lambda index: -badness(items[index]))
    return [items[index] for index in sorted(worst_first[:MAX_ITEMS])]
