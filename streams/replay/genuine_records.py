"""A reader of records that passes over those that no processor has written, by their MACs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from streams.engine.mac_checks import UNSIGNED_BEFORE, MacChecks, Serials
from streams.engine.records import Record, position
from streams.replay.violations import ViolationKind, Violations

_BATCH = 1000


class GenuineRecords:
    """The checks of one verification, with what they have refused.

    checks: None without a key; then all records count.
    """

    def __init__(self, checks: MacChecks | None) -> None:
        self._checks = checks
        self.refused: list[tuple[str, str]] = []
        """The position and the reason of each refused record."""

    def of(self, records: Iterable[Record]) -> Iterable[Record]:
        """Return the records that count.  Those of a partition must be in log order, from its start
        or from an offset that an earlier call has not reached."""
        return records if self._checks is None else self._checked(self._checks, iter(records))

    def _checked(self, checks: MacChecks, records: Iterator[Record]) -> Iterator[Record]:
        serials: Serials = {}
        while batch := list(islice(records, _BATCH)):
            for record, reason in zip(batch, checks.reasons(batch, serials), strict=True):
                if reason is None:
                    yield record
                elif reason != UNSIGNED_BEFORE:
                    self.refused.append((position(record), reason))

    def add_violations(self, violations: Violations) -> None:
        for place, reason in self.refused:
            message = "no processor has written this record here: it is used nowhere"
            violations.add(ViolationKind(reason), place, message)
