"""What a verification can find, and how what it has found is kept."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

MOST_SHOWN = 1000
"""Findings that are kept one by one; those beyond are counted."""


class Fault(StrEnum):
    """The closed set of what may be wrong with a log."""

    UNANSWERED = "unanswered"  # a decided command has neither a verdict nor a dead letter
    ANSWERED_TWICE = "answered_twice"  # a command has more than one of these
    WITHOUT_RECORD = "without_record"  # a verdict on a record that is not there
    REPEATED = "repeated"  # a fact stands on the log twice
    MISPLACED = "misplaced"  # a fact lies on another partition than its cause
    UNREADABLE = "unreadable"  # a fact or a row that no schema decodes
    SEQUENCE = "sequence"  # numbers of a session or a task that do not follow each other
    NOT_BORNE_OUT = "not_borne_out"  # what a fact says does not follow from what it rests on
    PROMISE = "promise"  # what a verdict promises did not come
    ROW_DIFFERS = "row_differs"  # a row is not what the facts come to
    ROW_MISSING = "row_missing"  # the facts come to a row that is not there
    ROW_UNFOUNDED = "row_unfounded"  # a row that no fact speaks of


class Finding(NamedTuple):
    """place: a position on the log, or table and row key.  told: one sentence for people."""

    fault: Fault
    place: str
    told: str


class Findings:
    """counts: of all, by fault.  shown: the first ones."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self.shown: list[Finding] = []

    def add(self, fault: Fault, place: str, told: str) -> None:
        self.counts[fault] += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(Finding(fault, place, told))
