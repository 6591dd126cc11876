"""The violations that a verification can find, and the list of those it has found."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

MOST_SHOWN = 1000
"""Findings that are stored one by one; further ones are only counted."""


class Fault(StrEnum):
    """The closed set of violations that a log can have."""

    UNANSWERED = "unanswered"  # a decided command has neither a verdict nor a dead letter
    ANSWERED_TWICE = "answered_twice"  # a command has two verdicts or dead letters
    WITHOUT_RECORD = "without_record"  # the record that a verdict names does not exist
    REPEATED = "repeated"  # a fact was written twice
    MISPLACED = "misplaced"  # a fact is on another partition than its cause
    UNREADABLE = "unreadable"  # no schema decodes a fact or a row
    SEQUENCE = "sequence"  # numbers of a session or a task are not consecutive
    NOT_BORNE_OUT = "not_borne_out"  # a fact does not follow from its inputs
    PROMISE = "promise"  # an accepted command had no outcome
    ROW_DIFFERS = "row_differs"  # a row differs from the folded one
    ROW_MISSING = "row_missing"  # the facts require a row that does not exist
    ROW_UNFOUNDED = "row_unfounded"  # no fact accounts for a row


class Finding(NamedTuple):
    """One violation.

    place: a position on the log, or table and row key.  told: one sentence for people.
    """

    fault: Fault
    place: str
    told: str


class Findings:
    """The violations found so far.

    counts: of all violations, by fault.  shown: the first `MOST_SHOWN` of them.
    """

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self.shown: list[Finding] = []

    def add(self, fault: Fault, place: str, message: str) -> None:
        self.counts[fault] += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(Finding(fault, place, message))
