"""What the constitution says of a task, of a result, of a cached answer.

Source: SAP spec, 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.protocols.sap.constitution import Constitution, Evaluation, combine, evaluate
from streams.protocols.sap.processor import bounds
from streams.protocols.sap.processor.case import Case
from streams.protocols.sap.processor.outcomes import VALID, Finding

Json = dict[str, Any]


def unevaluated(case: Case) -> Finding:
    """Where there is nothing to look at: as a task that was let in."""
    return _combined(None, {}, case)


def of_task(case: Case) -> Finding:
    """Before anybody works on it."""
    found = evaluate_task(case.task, case.policy, case.scene.constitution)
    return _combined(found, {}, case)


def of_result(case: Case, result: Json) -> Finding:
    found = evaluate_result(case.task, result, case.policy, case.scene.constitution)
    return _combined(found, result["constitutionalEvidence"], case)


def evaluate_task(task: Json, policy: Json, constitution: Constitution) -> Evaluation:
    """The look that decides whether a task is let in.  policy: SapPolicy."""
    return evaluate(
        "task",
        task["constitutionalContext"],
        payload=task["payload"],
        policy=policy,
        constitution=constitution,
    )


def evaluate_result(
    task: Json, result: Json, policy: Json, constitution: Constitution
) -> Evaluation | None:
    """None for a result that carries nothing to look at: it stands as its agent says."""
    phase, evidence = phase_of(result), result["constitutionalEvidence"]
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


def evaluate_record(
    task: Json, record: Mapping[str, Any], policy: Json, constitution: Constitution
) -> Evaluation:
    """The look at a cached answer in the context of the task that asks.  record: SapCacheRecord."""
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


def of_hit(rechecked: Evaluation | None, record: Mapping[str, Any], case: Case) -> Finding:
    """record: the cached answer.  rechecked: None if it was not looked at again."""
    stored = {name: record[name] for name in ("alignment", "policyChecks", "violations")}
    return _combined(rechecked, stored, case)


def phase_of(result: Json) -> str | None:
    if result["status"] == "SUCCEEDED":
        return "final"
    looked_at = result.get("output") is not None or result.get("metrics") is not None
    return "partial" if looked_at else None


def _combined(found: Evaluation | None, evidence: Mapping[str, Any], case: Case) -> Finding:
    both = combine(found, evidence, case.task["constitutionalContext"])
    alignment, checks, violations, readings = both
    own = Evaluation(VALID, [], [], []) if found is None else found
    kept_checks = bounds.checks(checks, len(own.checks))
    kept_violations = bounds.violations(violations, len(own.violations))
    omitted = {"policyChecks": kept_checks.omitted, "violations": kept_violations.omitted}
    return Finding(
        own.alignment,
        alignment,
        kept_checks.kept,
        kept_violations.kept,
        readings,
        own.steps,
        {name: count for name, count in omitted.items() if count},
    )
