"""Rows of which only refused records are left: marked in the store, so that nobody takes them for
absent.

Compaction may have dropped the genuine record of a key before a forged one.  A command that needs
such a row becomes a dead letter, which can be redriven; a genuine record written later clears the
mark.  Of some tables a missing row costs one computation, so that no mark is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from streams.engine.mac_checks import UNSIGNED_BEFORE, MacChecks, Serials
from streams.engine.records import Record, position
from streams.engine.refused_rows import PROCESS, RowRefused
from streams.engine.rows import Bytes, GetMany
from topology.core import ACCEPTED_GAPS, TIMERS
from topology.declarations import Table

_MARK = b"\0refused\0"
_ABSENT = (TIMERS, ACCEPTED_GAPS)
"""A forged timer does not fire, and a forged gap is none."""


class _Scans(Protocol):
    def scan(self, prefix: bytes) -> Iterable[tuple[bytes, bytes]]: ...


class RefusalMarks:
    """The marks in one store.

    any: whether there are some; else `check` need not be called.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        absent = (*_ABSENT, *(table for table in tables if table.absent_if_refused))
        self._absent = tuple(table.name.encode() + b"\0" for table in absent)
        self._deleted: set[bytes] = set()
        self.any = False

    def open(self, store: _Scans) -> None:
        self.any = next(iter(store.scan(_MARK)), None) is not None
        self._deleted = set()

    def check(self, keys: Sequence[bytes], stored: GetMany) -> None:
        """Raise RowRefused if one of these rows is marked."""
        for key, place in zip(keys, stored([_MARK + key for key in keys]), strict=True):
            if place is not None:
                raise RowRefused(key, place.decode())

    def cleared(self, rows: Bytes) -> Bytes:
        """Return the rows to write, without the marks of their keys."""
        marks: Bytes = {_MARK + key: None for key in rows if not key.startswith(_MARK)}
        return {**marks, **rows}

    def made(self, rows: Bytes, refused: Sequence[tuple[bytes, Record]], stored: GetMany) -> Bytes:
        """Return the marks of refused records of keys that have no row.

        rows: those that stand after the same records.  refused: with the keys of their rows.
        """
        self._deleted -= rows.keys()
        self._deleted.update(
            key for key, value in rows.items() if value is None and not key.startswith(self._absent)
        )
        last = {
            key: record
            for key, record in refused
            if key not in rows and key not in self._deleted and not key.startswith(self._absent)
        }
        existing = dict(zip(last, stored(list(last)), strict=True)) if last else {}
        marks: Bytes = {
            _MARK + key: position(record).encode()
            for key, record in last.items()
            if existing[key] is None
        }
        self.any = self.any or bool(marks)
        return marks

    def end_restore(self) -> None:
        """Forget what was read; only the marks stay."""
        self._deleted = set()


def accepted_records(
    checks: MacChecks | None, records: Sequence[Record], serials: Serials
) -> tuple[Sequence[Record], list[Record]]:
    """Return the records that count, and those that are refused and were counted as such.

    serials: updated.
    """
    if checks is None:
        return records, []
    accepted, refused = [], []
    for record, reason in zip(records, checks.reasons(records, serials), strict=True):
        if reason is None:
            accepted.append(record)
        elif reason != UNSIGNED_BEFORE:
            refused.append(record)
            PROCESS.count(record.topic, reason, position(record))
    return accepted, refused
