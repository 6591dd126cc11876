"""The violations that a verification can find, and the list of those it has found."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

MAX_STORED = 1000
"""Findings that are stored one by one; further ones are only counted."""


class ViolationKind(StrEnum):
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
    MAC_MISSING = "mac_missing"  # a fact or a row has no MAC, and a key is set
    MAC_INVALID = "mac_invalid"  # its MAC is not that of this record under any key
    MAC_TASK = "mac_task"  # a task has signed it that does not write there
    MAC_REPLAYED = "mac_replayed"  # it is a copy of an earlier record
    KEY_PARTITION = "key_partition"  # it is not on the partition of its key


class Violation(NamedTuple):
    """One violation.

    place: a position on the log, or table and row key.  message: one sentence.
    """

    fault: ViolationKind
    place: str
    message: str


class Violations:
    """The violations found so far.

    counts: of all violations, by fault.  shown: the first `MAX_STORED` of them.
    """

    def __init__(self) -> None:
        self.counts: Counter[ViolationKind] = Counter()
        self.shown: list[Violation] = []

    def add(self, fault: ViolationKind, place: str, message: str) -> None:
        self.counts[fault] += 1
        if len(self.shown) < MAX_STORED:
            self.shown.append(Violation(fault, place, message))
