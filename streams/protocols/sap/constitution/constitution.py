"""The constitution: the principles, constraints, essence and denylist of its file.

Source: SAP guide, 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.json_schema.patterns import WholePattern
from schemas.text_cache import cache_short
from streams.protocols.sap.constitution.checks import (
    CACHED,
    FINAL,
    NON_CONSTITUTIONAL,
    UNCHECKED,
    CheckResult,
    Subject,
)
from streams.protocols.sap.constitution.evaluators import EVALUATORS
from streams.protocols.sap.constitution.texts import normalised

DEFAULT_PHASES = (FINAL, CACHED)
"""The phases of an entry that names none."""


@dataclass(frozen=True, slots=True)
class Principle:
    """A principle.  threshold: a higher reading exceeds it.  severity: of a FAIL."""

    threshold: float = 60
    on_exceed: str = "check"
    severity: str = "high"


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """An entry of the catalogue.  match: whole texts that mean it; groups are parameters."""

    id: str
    match: tuple[WholePattern, ...]
    evaluator: str
    hard: bool = False
    severity: str = "high"
    on_fail: str = NON_CONSTITUTIONAL
    phases: tuple[str, ...] = DEFAULT_PHASES
    learnable: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)

    def check(self, subject: Subject, text_params: Mapping[str, str]) -> CheckResult | None:
        """Check a subject.  text_params: parameters read from the text of a constraint."""
        evaluator = EVALUATORS[self.evaluator]
        params = dict(self.params)
        for name, text in text_params.items():
            read = evaluator.reader(name)
            assert read is not None, "groups are parameters: the file was checked"
            try:
                params[name] = read(text)
            except ValueError as exc:
                return CheckResult(UNCHECKED, f"the parameter {name}: {exc}")
        if evaluator.lacks(params.keys()):
            return CheckResult(UNCHECKED, "the constraint does not say what is to be checked")
        return evaluator.check(subject, params)


class ConstraintMatch(NamedTuple):
    """A constraint text that the catalogue knows."""

    constraint: Constraint
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Constitution:
    """A constitution: its principles, checks and terms.

    label: `<version>@<first 12 hex of the file's SHA-256>`.  principles: those listed.
    escalation: the capability that is asked for a review.
    """

    label: str
    defaults: Principle
    principles: Mapping[str, Principle]
    volatile_keys: tuple[str, ...]
    denylist: tuple[str, ...]
    escalation: str
    constraints: tuple[Constraint, ...]

    def principle(self, name: str) -> Principle:
        return self.principles.get(name, self.defaults)

    def threshold(self, principle: str) -> float:
        return self.principle(principle).threshold

    def on_exceed(self, principle: str) -> str:
        return self.principle(principle).on_exceed

    @property
    def learnable(self) -> frozenset[str]:
        """Return the ids of constraints that may be learned as extra checks."""
        return frozenset(entry.id for entry in self.constraints if entry.learnable)

    def constraint(self, id: str) -> Constraint | None:
        return next((entry for entry in self.constraints if entry.id == id), None)

    def match(self, text: str) -> ConstraintMatch | None:
        """Return the first entry whose expression matches a constraint's whole text."""
        return _match(self, normalised(text))


@cache_short(4096)
def _match(constitution: Constitution, text: str) -> ConstraintMatch | None:
    for entry in constitution.constraints:
        for pattern in entry.match:
            groups = pattern.groups(text)
            if groups is not None:
                params = {name: value for name, value in groups.items() if value}
                return ConstraintMatch(entry, params)
    return None
