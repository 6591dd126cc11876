"""Whether something is in line with the constitution of its task, and what becomes of it then.

`evaluate` is one pure function.  It looks at eight things in a fixed order.  Each may give a vote,
and the highest vote is the answer: VALID < ESCALATE < NON_CONSTITUTIONAL.  What cannot be checked
is said to be UNCHECKED, and stands in the way of a `deliberated` task only.  `combine` and
`status_after` put the answer together with what the agent itself has reported.

Source: SAP spec, 3.5, 3.6 and 9.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from schemas import sha256_hex
from schemas.decimals import plain
from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.evaluators import (
    budget_members,
    check_denylist,
    compare_budget,
    contract_findings,
    number,
)
from streams.protocols.sap.constitution.findings import (
    ALIGNMENTS,
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
    Finding,
    Json,
    Subject,
    Tally,
    vote_of,
    worse_status,
    worst,
)
from streams.protocols.sap.constitution.texts import array, normalised, objects, record, strings

AGENT_STATUS, REFUSED, ESCALATED = "agent_status", "alignment_refused", "alignment_escalated"
_TEXT_ID_HEX = 16


class Evaluation(NamedTuple):
    """checks, violations: as in a result's evidence.

    steps: {step, name, status, notes, vote} in the order they were taken; the last is the sum.
    """

    alignment: str
    checks: list[Json]
    violations: list[Json]
    steps: list[Json]


@dataclass(frozen=True, slots=True)
class _Case:
    """One evaluation: what it goes by, and what it has found."""

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
        """An answer that is complete is looked at, not a part of it or the question."""
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
    case = _Case(subject, record(context), record(policy), constitution, Tally())
    if case.level != INSTANT and phase != PARTIAL:
        _weigh(phase, case.context, case.policy, constitution, array(checks), case.tally)
    if phase != TASK:
        _reported(case, violations)
        _contract(case)
        _budget(case, budget)
    _denylist(case)
    ran = _constraints(case)
    _learned(case, ran)
    deliberated = case.level == DELIBERATED and case.whole
    alignment = case.tally.conclude(8, deliberated)
    tally = case.tally
    return Evaluation(alignment, list(tally.checks.values()), tally.violations, tally.steps)


def _weigh(
    phase: str,
    context: Json,
    policy: Json,
    constitution: Constitution,
    reported: Any,
    tally: Tally,
) -> None:
    """checks that were reported for a principle count where its reading exceeds; all FAIL count."""
    risk = context.get("riskTolerance")
    checks = [check for check in objects(reported) if check.get("status") in STATUSES]
    answered: set[str] = set()
    for name, figures in _exceeding(context, policy, constitution):
        principle = constitution.principle(name)
        answered.add(name)
        if principle.on_exceed == "escalate":
            tally.check(1, name, Finding(FAIL, figures), vote=ESCALATE)
        elif phase != TASK:
            own = [check["status"] for check in checks if check.get("principle") == name]
            finding = _worst_finding(own, figures)
            vote = vote_of(principle.severity, risk)
            tally.check(1, name, finding, principle.severity, vote)
    for check in checks:
        other = check.get("principle")
        if isinstance(other, str) and other not in answered and check["status"] == FAIL:
            finding = Finding(FAIL, "reported by the agent")
            tally.check(1, other, finding, MEDIUM, vote_of(MEDIUM, risk))


def _exceeding(
    context: Json, policy: Json, constitution: Constitution
) -> Iterator[tuple[str, str]]:
    """The principles whose reading is above the threshold, with the figures of it."""
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
            yield name, f"{plain(reading)} > {plain(threshold)}"


def _worst_finding(statuses: list[str], figures: str) -> Finding:
    if not statuses:
        return Finding(UNCHECKED, f"{figures}, no finding reported")
    worst = statuses[0]
    for status in statuses:
        worst = worse_status(worst, status)
    return Finding(worst, figures)


def _reported(case: _Case, violations: Any) -> None:
    risk = case.context.get("riskTolerance")
    for violation in objects(violations):
        severity = violation.get("severity")
        name = str(violation.get("principle"))
        case.tally.reported(2, name, str(severity), vote_of(severity, risk))


def _contract(case: _Case) -> None:
    if case.whole:
        subject = case.subject
        found = contract_findings(subject.contract, subject.value, subject.denylist)
        for name, finding in found.items():
            case.tally.check(3, name, finding, HIGH, NON_CONSTITUTIONAL)


def _budget(case: _Case, budget: Any) -> None:
    for name, allowed in budget_members(budget).items():
        finding = compare_budget(name, allowed, case.subject)
        if finding is not None:
            case.tally.check(4, f"budget:{name}", finding, HIGH, ESCALATE)


def _denylist(case: _Case) -> None:
    if case.subject.denylist:
        finding = check_denylist(case.subject, {})
        case.tally.check(5, "denylist", finding, CRITICAL, NON_CONSTITUTIONAL)


def _constraints(case: _Case) -> frozenset[str]:
    """The ids of the entries that were run."""
    ran: set[str] = set()
    for text in strings(case.context.get("constraints")):
        matched = case.constitution.match(text)
        if matched is None:
            if case.level != INSTANT and case.whole:
                case.tally.check(6, _unknown(text), Finding(UNCHECKED, text))
            continue
        entry = matched.constraint
        if case.subject.phase not in entry.phases or (case.level == INSTANT and not entry.hard):
            continue
        finding = entry.check(case.subject, matched.said)
        if finding is not None:
            ran.add(entry.id)
            name = f"constraint:{entry.id}"
            case.tally.check(6, name, finding, entry.severity, entry.on_fail)
    return frozenset(ran)


def _unknown(text: str) -> str:
    digest = sha256_hex(normalised(text).encode("utf-8", "surrogatepass"))
    return f"constraint:text:{digest[:_TEXT_ID_HEX]}"


def _learned(case: _Case, ran: frozenset[str]) -> None:
    if case.level == INSTANT or not case.whole:
        return
    for id in sorted(set(strings(case.policy.get("extraChecks"))) - ran):
        entry = case.constitution.constraint(id)
        if entry is None:
            finding: Finding | None = Finding(UNCHECKED, "the constitution has no such entry")
        else:
            finding = entry.check(case.subject, {})
        if finding is not None:
            severity = entry.severity if entry else None
            case.tally.check(7, f"learned:{id}", finding, severity, ESCALATE)


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
