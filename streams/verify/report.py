"""The result of a verification."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from streams.replay.violations import Violations


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification.

    commands, facts, rows: how many were verified, by topic or table.
    waiting: commands that are parked and so have no verdict yet.  unchecked: what depends on
    records that are not on the log any more.  decided: the next offset of each input, by partition.
    """

    findings: Violations
    commands: Counter[str]
    facts: Counter[str]
    rows: Counter[str]
    waiting: int
    unchecked: int
    decided: dict[str, int] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        return not self.findings.counts


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON members."""
    return {
        "clean": report.clean,
        "counts": {fault.value: count for fault, count in report.findings.counts.items()},
        "findings": [
            {"fault": fault.value, "place": place, "told": message}
            for fault, place, message in report.findings.shown
        ],
        "commands": dict(report.commands),
        "facts": dict(report.facts),
        "rows": dict(report.rows),
        "waiting": report.waiting,
        "unchecked": report.unchecked,
        "decided": report.decided,
    }
