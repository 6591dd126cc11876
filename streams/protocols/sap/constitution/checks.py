"""The subject of checks, the result of a check, and the tally of votes, violations and steps.

Source: SAP guide, 2.2, 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.sap.constants import ALIGNMENTS, CHECK_STATUSES, LEVELS, RISKS, SEVERITIES

Json = dict[str, Any]

VALID, ESCALATE, NON_CONSTITUTIONAL = ALIGNMENTS
PASS, FAIL, UNCHECKED = CHECK_STATUSES
STATUSES = (PASS, UNCHECKED, FAIL)
"""The statuses of a check, from the best to the worst."""

LOW, MEDIUM, HIGH, CRITICAL = SEVERITIES
INSTANT, CONSULTED, DELIBERATED = LEVELS

TASK, PARTIAL, FINAL, CACHED = "task", "partial", "final", "cached"
PHASES = (TASK, PARTIAL, FINAL, CACHED)

_ALL_VALID = (VALID, VALID, VALID)
VOTES: Mapping[str, tuple[str, str, str]] = {
    CRITICAL: (NON_CONSTITUTIONAL, NON_CONSTITUTIONAL, NON_CONSTITUTIONAL),
    HIGH: (NON_CONSTITUTIONAL, ESCALATE, ESCALATE),
    MEDIUM: (ESCALATE, VALID, VALID),
    LOW: _ALL_VALID,
}
"""The vote by severity of a violation and risk tolerance."""


def vote_of(severity: object, risk: object) -> str:
    """Return the vote of a violation; an unknown tolerance counts as medium."""
    votes = VOTES.get(severity, _ALL_VALID) if isinstance(severity, str) else _ALL_VALID
    return votes[RISKS.index(risk) if risk in RISKS else 1]


def worst(alignments: Iterable[str]) -> str:
    """Return the highest vote; VALID if there is none."""
    return max(alignments, key=ALIGNMENTS.index, default=VALID)


def worse_status(one: str, other: str) -> str:
    return max(one, other, key=STATUSES.index)


Params = Mapping[str, Any]


class CheckResult(NamedTuple):
    """The result of a check: PASS, FAIL or UNCHECKED.  notes never contain the matched text."""

    status: str
    notes: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The value that evaluators check.

    value: the payload in phase `task`, else the output; None is no output.
    denylist: the terms of the constitution.
    """

    phase: str
    value: Any = None
    contract: Any = None
    citations: Sequence[Any] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    denylist: tuple[str, ...] = ()


class Evaluator(NamedTuple):
    """A function that checks a subject, and the readers of its parameters.

    check: returns None if there is nothing to check in that phase.
    params: the reader of each parameter by name, for the file or a constraint's text; a reader
      raises ValueError.
    needs: parameters of which at least one is required.
    others: reads parameters of any other name, if they are allowed.
    """

    check: Callable[[Subject, Params], CheckResult | None]
    params: Mapping[str, Callable[[Any], Any]] = {}
    needs: frozenset[str] = frozenset()
    others: Callable[[Any], Any] | None = None

    def reader(self, name: str) -> Callable[[Any], Any] | None:
        """Return the reader of a parameter, None for an unknown name."""
        return self.params.get(name, self.others)

    def lacks(self, names: Set[str]) -> bool:
        """Return whether none of these names is a required parameter."""
        if not self.needs:
            return False
        return not (names if self.others else self.needs & names)


MAX_NAME, MAX_NOTES = 1024, 4000
"""Maximum code points of a name in an outcome (2.2)."""


class Tally:
    """The results of one evaluation.

    agent_notes: what the agent notes in its own checks, by name; it stands beside the service's.
    checks: by name; the worse of two counts.  steps: every check, in the order of evaluation.
    """

    def __init__(self, agent_notes: Mapping[str, str] | None = None) -> None:
        self._agent_notes = agent_notes or {}
        self.checks: dict[str, Json] = {}
        self.violations: list[Json] = []
        self.steps: list[Json] = []
        self._votes: list[str] = []

    def check(
        self,
        step: int,
        name: str,
        result: CheckResult,
        severity: str | None = None,
        vote: str = VALID,
    ) -> None:
        """Count one check.  severity: of the violation that a FAIL is, if it is one.  vote: of a
        FAIL.
        """
        evidence = result.notes[:MAX_NOTES]
        name, result = name[:MAX_NAME], result._replace(notes=self._joined_notes(name, evidence))
        known = self.checks.get(name)
        if known is None or _worse(result.status, known["status"]):
            self.checks[name] = {"principle": name, "status": result.status, "notes": result.notes}
        if result.status == FAIL and severity is not None:
            violation = {"principle": name, "severity": severity, "evidence": evidence}
            self.violations.append(violation)
        self._record(step, name, result, vote if result.status == FAIL else VALID)

    def _joined_notes(self, name: str, notes: str) -> str:
        """Return the service's notes and, behind them, those of the agent's check of that name."""
        agent_notes = self._agent_notes.get(name)
        if agent_notes is None:
            return notes
        return f"{notes}; the agent notes {agent_notes}"[:MAX_NOTES]

    def count_reported(self, step: int, principle: str, severity: str, vote: str) -> None:
        """Count a violation that the agent itself reports."""
        self._record(step, principle, CheckResult("reported", f"severity {severity}"), vote)

    def conclude(self, step: int, deliberated: bool) -> str:
        """Return the highest vote; to deliberate, everything must have been checked."""
        alignment = worst(self._votes)
        notes = "the highest vote"
        if alignment == VALID and deliberated:
            names = [n for n, check in self.checks.items() if check["status"] == UNCHECKED]
            if names:
                alignment, notes = ESCALATE, f"not checked: {', '.join(names)}"
        self.steps.append(
            {"step": step, "name": "sum", "status": None, "notes": notes, "vote": alignment}
        )
        return alignment

    def _record(self, step: int, name: str, result: CheckResult, vote: str) -> None:
        self._votes.append(vote)
        self.steps.append({"step": step, "name": name, **result._asdict(), "vote": vote})


def _worse(status: str, other: str) -> bool:
    return STATUSES.index(status) > STATUSES.index(other)
