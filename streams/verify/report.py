"""What a verification says in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from streams.replay.findings import Findings


@dataclass(frozen=True, slots=True)
class Report:
    """commands, facts, rows: how many were verified, by topic or table.

    waiting: commands that wait for others, and so have no answer yet.  unchecked: what rests on
    records that the log does not keep any more.  decided: up to where the tasks had decided.
    """

    findings: Findings
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
    """For machines."""
    return {
        "clean": report.clean,
        "counts": {fault.value: count for fault, count in report.findings.counts.items()},
        "findings": [
            {"fault": fault.value, "place": place, "told": told}
            for fault, place, told in report.findings.shown
        ],
        "commands": dict(report.commands),
        "facts": dict(report.facts),
        "rows": dict(report.rows),
        "waiting": report.waiting,
        "unchecked": report.unchecked,
        "decided": report.decided,
    }
