"""What an evaluation has found so far.

Source: SAP spec, 3.5.
"""

from __future__ import annotations

from streams.protocols.sap.constitution.model import Finding
from streams.protocols.sap.constitution.words import (
    ESCALATE,
    FAIL,
    STATUSES,
    UNCHECKED,
    VALID,
    Json,
    worst,
)

LONGEST_NAME, LONGEST_NOTES = 1024, 4000
"""Code points, as an outcome may have them (2.2)."""


class Tally:
    """checks: by name, the worse of two stays.  steps: everything in the order it was looked at."""

    def __init__(self) -> None:
        self.checks: dict[str, Json] = {}
        self.violations: list[Json] = []
        self.steps: list[Json] = []
        self._votes: list[str] = []

    def check(
        self, step: int, name: str, found: Finding, severity: str | None = None, vote: str = VALID
    ) -> None:
        """severity: of the violation that a FAIL is, if it is one.  vote: what a FAIL says."""
        name, found = name[:LONGEST_NAME], found._replace(notes=found.notes[:LONGEST_NOTES])
        known = self.checks.get(name)
        if known is None or _worse(found.status, known["status"]):
            self.checks[name] = {"principle": name, "status": found.status, "notes": found.notes}
        if found.status == FAIL and severity is not None:
            violation = {"principle": name, "severity": severity, "evidence": found.notes}
            self.violations.append(violation)
        self._note(step, name, found, vote if found.status == FAIL else VALID)

    def reported(self, step: int, principle: str, severity: str, vote: str) -> None:
        """A violation that the agent itself reports."""
        self._note(step, principle, Finding("reported", f"severity {severity}"), vote)

    def conclude(self, step: int, deliberated: bool) -> str:
        """The highest vote; to deliberate, everything must have been checked."""
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

    def _note(self, step: int, name: str, found: Finding, vote: str) -> None:
        self._votes.append(vote)
        self.steps.append({"step": step, "name": name, **found._asdict(), "vote": vote})


def _worse(status: str, other: str) -> bool:
    return STATUSES.index(status) > STATUSES.index(other)
