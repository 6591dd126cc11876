"""What a history can be reported for, each by its name."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple


class Anomaly(StrEnum):
    """The closed set, by the clause that does not hold."""

    NOT_KEPT = "not_kept"  # an acknowledged record is not on the log as it was sent
    UNANSWERED = "unanswered"  # a command has neither a verdict nor a dead letter
    ANSWERED_TWICE = "answered_twice"  # a command has more than one of these
    WITHOUT_COMMAND = "without_command"  # a verdict or a dead letter on nothing
    ILLEGAL_STEP = "illegal_step"  # facts of one key leave the paths of its machine
    SEQUENCE = "sequence"  # numbers of a session have a gap or a repeat
    POSITION_BACK = "position_back"  # a task's position moved back: two owners wrote
    OUTPUT = "output"  # what a verdict promises is missing, repeated or another
    VERDICT = "verdict"  # a verdict does not follow from its command and its figures
    TABLE = "table"  # a table is not what facts and commands fold to
    STORE = "store"  # a RocksDB is not what the changelog holds below its positions
    VIEW = "view"  # a view is not what the tables hold


_SHOWN = 8
"""Of each kind."""


class Violation(NamedTuple):
    """place: a position on the log, a row, or whatever the sentence is about."""

    anomaly: Anomaly
    place: str
    detail: str


def render_violations(findings: list[Violation]) -> str:
    """For the output of a test that fails."""
    counts = Counter(one.anomaly for one in findings)
    lines = [f"{name}: {count}" for name, count in counts.items()]
    for name in counts:
        some = [one for one in findings if one.anomaly is name][:_SHOWN]
        lines += [f"{name} {one.place}: {one.detail[:300]}" for one in some]
    return "\n".join(lines)
