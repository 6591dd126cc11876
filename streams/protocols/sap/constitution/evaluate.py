"""Whether something is in line with the constitution of its task: one pure function.

It looks at eight things in a fixed order.  Each may give a vote, and the highest vote is the
answer: VALID < ESCALATE < NON_CONSTITUTIONAL.  What cannot be checked is said to be UNCHECKED, and
stands in the way of a `deliberated` task only.

Source: SAP spec, 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from schemas import sha256_hex
from streams.protocols.sap.constitution import budget as budgets
from streams.protocols.sap.constitution import contract as contracts
from streams.protocols.sap.constitution import denylist
from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.model import Finding, Subject
from streams.protocols.sap.constitution.principles import weigh
from streams.protocols.sap.constitution.shapes import array, objects, record, strings
from streams.protocols.sap.constitution.tally import Tally
from streams.protocols.sap.constitution.texts import normalised
from streams.protocols.sap.constitution.words import (
    CACHED,
    CRITICAL,
    DELIBERATED,
    ESCALATE,
    FINAL,
    HIGH,
    INSTANT,
    NON_CONSTITUTIONAL,
    PARTIAL,
    TASK,
    UNCHECKED,
    Json,
    vote_of,
)

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
        weigh(phase, case.context, case.policy, constitution, array(checks), case.tally)
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


def _reported(case: _Case, violations: Any) -> None:
    risk = case.context.get("riskTolerance")
    for violation in objects(violations):
        severity = violation.get("severity")
        name = str(violation.get("principle"))
        case.tally.reported(2, name, str(severity), vote_of(severity, risk))


def _contract(case: _Case) -> None:
    if case.whole:
        subject = case.subject
        found = contracts.findings(subject.contract, subject.value, subject.denylist)
        for name, finding in found.items():
            case.tally.check(3, name, finding, HIGH, NON_CONSTITUTIONAL)


def _budget(case: _Case, budget: Any) -> None:
    for name, allowed in budgets.members(budget).items():
        finding = budgets.compared(name, allowed, case.subject)
        if finding is not None:
            case.tally.check(4, f"budget:{name}", finding, HIGH, ESCALATE)


def _denylist(case: _Case) -> None:
    if case.subject.denylist:
        finding = denylist.check(case.subject, {})
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
