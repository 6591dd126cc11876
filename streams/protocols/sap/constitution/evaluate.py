"""The evaluation of a task or result against its constitution, and the status that follows.

`evaluate` is a pure function.  It makes eight checks in a fixed order.  Each may give a vote,
and the highest vote is the result: VALID < ESCALATE < NON_CONSTITUTIONAL.  A check that cannot be
made is UNCHECKED, which only stops a `deliberated` task.  `combine` and `status_after` combine the
result with what the agent itself has reported.

Source: SAP guide, 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from schemas import sha256_hex
from schemas.decimals import format_plain
from schemas.sap.constants import ALIGNMENTS
from streams.protocols.sap.constitution.checks import (
    CACHED,
    CRITICAL,
    DELIBERATED,
    ESCALATE,
    FAIL,
    FINAL,
    HIGH,
    INSTANT,
    MEDIUM,
    NON_CONSTITUTIONAL,
    PARTIAL,
    STATUSES,
    TASK,
    UNCHECKED,
    VALID,
    CheckResult,
    Json,
    Subject,
    Tally,
    vote_of,
    worse_status,
    worst,
)
from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.evaluators import (
    budget_members,
    check_denylist,
    compare_budget,
    contract_results,
    number,
)
from streams.protocols.sap.constitution.texts import array, normalised, objects, record, strings

AGENT_STATUS, REFUSED, ESCALATED = "agent_status", "alignment_refused", "alignment_escalated"
_TEXT_ID_HEX = 16


class Evaluation(NamedTuple):
    """The result of an evaluation.

    checks, violations: as in a result's evidence.
    steps: {step, name, status, notes, vote} in the order of evaluation; the last is the sum.
    """

    alignment: str
    checks: list[Json]
    violations: list[Json]
    steps: list[Json]


@dataclass(frozen=True, slots=True)
class _EvaluationContext:
    """The inputs of one evaluation, and its results so far."""

    subject: Subject
    context: Json
    policy: Json
    constitution: Constitution
    tally: Tally

    @property
    def level(self) -> object:
        return self.context.get("pressureLevel")

    @property
    def whole(self) -> bool:
        """Return whether a complete answer is checked, not a part of it or the question."""
        return self.subject.phase in (FINAL, CACHED)


def evaluate(
    phase: str,
    context: Any,
    *,
    policy: Any,
    constitution: Constitution,
    contract: Any = None,
    budget: Any = None,
    payload: Any = None,
    output: Any = None,
    citations: Any = (),
    checks: Any = (),
    violations: Any = (),
    metrics: Any = None,
) -> Evaluation:
    """Evaluate one phase of a task.  Pure, and defined for every JSON value.

    context, contract, budget: the Task's constitutionalContext, outputContract and budget.
    checks, violations: as reported.  policy: a SapPolicy.
    """
    subject = Subject(
        phase,
        payload if phase == TASK else output,
        contract,
        array(citations),
        record(metrics),
        constitution.denylist,
    )
    ctx = _EvaluationContext(
        subject, record(context), record(policy), constitution, Tally(_notes_of(phase, checks))
    )
    if ctx.level != INSTANT and phase != PARTIAL:
        _principles(phase, ctx.context, ctx.policy, constitution, array(checks), ctx.tally)
    if phase != TASK:
        _reported(ctx, violations)
        _contract(ctx)
        _budget(ctx, budget)
    _denylist(ctx)
    ran = _constraints(ctx)
    _learned(ctx, ran)
    deliberated = ctx.level == DELIBERATED and ctx.whole
    alignment = ctx.tally.conclude(8, deliberated)
    tally = ctx.tally
    return Evaluation(alignment, list(tally.checks.values()), tally.violations, tally.steps)


def _notes_of(phase: str, checks: Any) -> dict[str, str]:
    """Return what the agent notes in its own checks, by their principles.

    A cached answer has none: its checks are those of the outcome that was stored.
    """
    noted = [] if phase == CACHED else objects(checks)
    return {
        check["principle"]: f"{check['status']}: {check['notes']}"
        for check in noted
        if isinstance(check.get("principle"), str)
        and check.get("status") in STATUSES
        and isinstance(check.get("notes"), str)
    }


def _principles(
    phase: str,
    context: Json,
    policy: Json,
    constitution: Constitution,
    reported: Any,
    tally: Tally,
) -> None:
    """Count the checks reported for exceeded principles, and every other FAIL."""
    risk = context.get("riskTolerance")
    checks = [check for check in objects(reported) if check.get("status") in STATUSES]
    exceeded: set[str] = set()
    for name, reading_text in _exceeding(context, policy, constitution):
        principle = constitution.principle(name)
        exceeded.add(name)
        if principle.on_exceed == "escalate":
            tally.check(1, name, CheckResult(FAIL, reading_text), vote=ESCALATE)
        elif phase != TASK:
            statuses = [check["status"] for check in checks if check.get("principle") == name]
            result = _worst_result(statuses, reading_text, phase)
            vote = vote_of(principle.severity, risk)
            tally.check(1, name, result, principle.severity, vote)
    for check in checks:
        other = check.get("principle")
        if isinstance(other, str) and other not in exceeded and check["status"] == FAIL:
            result = CheckResult(FAIL, "the agent itself reports it")
            tally.check(1, other, result, MEDIUM, vote_of(MEDIUM, risk))


def _exceeding(
    context: Json, policy: Json, constitution: Constitution
) -> Iterator[tuple[str, str]]:
    """Return the principles whose pressure is above the threshold, and a text that says so."""
    pressure, learned = record(context.get("pressure")), record(policy.get("thresholds"))
    listed = [
        name for name in dict.fromkeys(strings(context.get("principles"))) if name in pressure
    ]
    for name in listed + sorted(set(pressure) - set(listed)):
        reading = number(pressure[name])
        threshold = number(learned.get(name))
        if threshold is None:
            threshold = number(constitution.threshold(name)) or Decimal(0)
        if reading is not None and reading > threshold:
            numbers = f"{format_plain(reading)} is above the threshold {format_plain(threshold)}"
            yield name, f"the pressure {numbers}"


def _worst_result(statuses: list[str], reading_text: str, phase: str) -> CheckResult:
    """Return the worst of the checks that were reported for a principle, and why it counts."""
    if not statuses:
        return CheckResult(UNCHECKED, f"{reading_text}, and no check of it is reported")
    worst = statuses[0]
    for status in statuses:
        worst = worse_status(worst, status)
    source = "the stored answer has" if phase == CACHED else "the agent reports"
    return CheckResult(worst, f"{reading_text}, so it had to be checked; {source} {worst}")


def _reported(ctx: _EvaluationContext, violations: Any) -> None:
    risk = ctx.context.get("riskTolerance")
    for violation in objects(violations):
        severity = violation.get("severity")
        name = str(violation.get("principle"))
        ctx.tally.count_reported(2, name, str(severity), vote_of(severity, risk))


def _contract(ctx: _EvaluationContext) -> None:
    if ctx.whole:
        subject = ctx.subject
        results = contract_results(subject.contract, subject.value, subject.denylist)
        for name, result in results.items():
            ctx.tally.check(3, name, result, HIGH, NON_CONSTITUTIONAL)


def _budget(ctx: _EvaluationContext, budget: Any) -> None:
    for name, allowed in budget_members(budget).items():
        result = compare_budget(name, allowed, ctx.subject)
        if result is not None:
            ctx.tally.check(4, f"budget:{name}", result, HIGH, ESCALATE)


def _denylist(ctx: _EvaluationContext) -> None:
    if ctx.subject.denylist:
        result = check_denylist(ctx.subject, {})
        ctx.tally.check(5, "denylist", result, CRITICAL, NON_CONSTITUTIONAL)


def _constraints(ctx: _EvaluationContext) -> frozenset[str]:
    """Check the constraints of the task.  Return the ids of the entries that were run."""
    ran: set[str] = set()
    for text in strings(ctx.context.get("constraints")):
        match = ctx.constitution.match(text)
        if match is None:
            if ctx.level != INSTANT and ctx.whole:
                ctx.tally.check(6, _unknown(text), CheckResult(UNCHECKED, text))
            continue
        entry = match.constraint
        if ctx.subject.phase not in entry.phases or (ctx.level == INSTANT and not entry.hard):
            continue
        result = entry.check(ctx.subject, match.params)
        if result is not None:
            ran.add(entry.id)
            name = f"constraint:{entry.id}"
            ctx.tally.check(6, name, result, entry.severity, entry.on_fail)
    return frozenset(ran)


def _unknown(text: str) -> str:
    digest = sha256_hex(normalised(text).encode("utf-8", "surrogatepass"))
    return f"constraint:text:{digest[:_TEXT_ID_HEX]}"


def _learned(ctx: _EvaluationContext, ran: frozenset[str]) -> None:
    if ctx.level == INSTANT or not ctx.whole:
        return
    for id in sorted(set(strings(ctx.policy.get("extraChecks"))) - ran):
        entry = ctx.constitution.constraint(id)
        if entry is None:
            missing = "the constitution has no such entry"
            result: CheckResult | None = CheckResult(UNCHECKED, missing)
        else:
            result = entry.check(ctx.subject, {})
        if result is not None:
            severity = entry.severity if entry else None
            ctx.tally.check(7, f"learned:{id}", result, severity, ESCALATE)


class Combined(NamedTuple):
    """The evidence of an outcome.  pressureReadings: None where neither side has any."""

    alignment: str
    checks: list[Json]
    violations: list[Json]
    pressureReadings: Json | None


def combine(evaluation: Evaluation | None, evidence: Any, context: Any) -> Combined:
    """Join the service's results and the agent's.

    evaluation: None where nothing was evaluated.  evidence: constitutionalEvidence as reported.
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
    violations = [v for v in objects(evidence.get("violations")) if v not in service.violations]
    return Combined(
        worst([service.alignment, *reported]),
        [*service.checks, *others],
        [*service.violations, *violations],
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
    """Return the status of the outcome, and the rule that made it."""
    return _CHANGED.get((status, alignment), (status, AGENT_STATUS))
