"""The comparison of records with their entries, a portion of the log at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.log.reading import records
from streams.ops.audit.verify import Violation
from streams.ops.tlog.entries import Entry, RecordEntry, parse_entry, sort_key
from streams.ops.tlog.receipt import RecordMatch, compare_record

PORTION = 100_000
"""The number of entries after which their records are read."""
_WHAT = {
    "records_missing": ("is missing, or lies elsewhere", "are missing, or lie elsewhere"),
    "records_differ": ("is not the one that was logged", "are not those that were logged"),
    "records_added": ("has no entry, and later ones have", "have no entry, and later ones have"),
    "order_invalid": ("has an entry out of order", "have entries out of order"),
}
"""What is said of one record, and of several."""


@dataclass(slots=True)
class Coverage:
    """The part of one partition that the log covers.

    covered_to: the offset below which each record has a published entry.  records: how many have
    one.  beyond: how many have none.  uncovered_since: when the oldest of these was written, in ms
    since the epoch; None without one.
    """

    place: str
    covered_to: int = 0
    records: int = 0
    beyond: int = 0
    uncovered_since: int | None = None

    def cover(self, entry: Entry) -> None:
        """Count a published entry."""
        self.covered_to = entry.end
        self.records += isinstance(entry, RecordEntry)

    def leave_out(self, timestamp: int) -> None:
        """Count a record that has no published entry."""
        self.beyond += 1
        since = self.uncovered_since
        self.uncovered_since = timestamp if since is None else min(since, timestamp)


@dataclass(slots=True)
class _Run:
    """Records of one partition, one after the other, with the same fault."""

    code: str
    first: int
    last: int
    count: int = 1


class PartitionComparison:
    """The entries of one partition, compared with its records as both are read in order.

    due: the offset after the last entry.  begin: the offset at which the next portion begins.
    """

    def __init__(self, tp: TopicPartition) -> None:
        self.coverage = Coverage(f"{tp.topic}/{tp.partition}")
        self.findings: list[Violation] = []
        self.due = self.begin = 0
        self._entries: deque[RecordEntry] = deque()
        self._run: _Run | None = None

    def take_entry(self, entry: Entry, is_published: bool, is_sorted: bool) -> None:
        """Take the next entry; one that lies below another is not compared."""
        if entry.begin < self.due or not is_sorted:
            self._add("order_invalid", entry.begin)
        if entry.begin < self.due:
            return
        self.due = entry.end
        if isinstance(entry, RecordEntry):
            self._entries.append(entry)
        if is_published:
            self.coverage.cover(entry)
        elif isinstance(entry, RecordEntry):
            self.coverage.leave_out(entry.timestamp)

    def take_record(self, record: Record) -> None:
        """Compare the next record with its entry."""
        self._miss_entries(record.offset)
        if not self._entries or self._entries[0].offset > record.offset:
            self._add("records_added", record.offset)
        elif compare_record(record, self._entries.popleft()) is RecordMatch.DIFFERS:
            self._add("records_differ", record.offset)
        else:
            self._end_run()

    def end_portion(self) -> None:
        """Note that all records below `due` were read."""
        self._miss_entries(self.due)
        self.begin = self.due

    def close(self) -> None:
        self._end_run()

    def _miss_entries(self, below: int) -> None:
        while self._entries and self._entries[0].offset < below:
            self._add("records_missing", self._entries.popleft().offset)

    def _add(self, code: str, offset: int) -> None:
        run = self._run
        if run is not None and run.code == code:
            run.last, run.count = offset, run.count + 1
            return
        self._end_run()
        self._run = _Run(code, offset, offset)

    def _end_run(self) -> None:
        if self._run is not None:
            code, first, last = self._run.code, self._run.first, self._run.last
            one, several = _WHAT[code]
            what = f"the record at offset {first} {one}"
            if self._run.count > 1:
                what = f"{self._run.count} records from offset {first} to {last} {several}"
            self.findings.append(Violation(self.coverage.place, first, last, code, what))
        self._run = None


class RecordComparison:
    """The entries of a log, compared with the records of some of the covered partitions.

    published: the number of entries that are published.
    """

    def __init__(
        self,
        log: Log,
        covered: Iterable[TopicPartition],
        tps: Collection[TopicPartition],
        published: int,
    ) -> None:
        self._log, self._published, self._index, self._pending = log, published, 0, 0
        self._covered = frozenset(covered)
        self._partitions = {tp: PartitionComparison(tp) for tp in sorted(tps)}
        self._foreign: list[Violation] = []

    @property
    def findings(self) -> list[Violation]:
        """Return all findings by partition, once it is closed."""
        findings = [each for part in self._partitions.values() for each in part.findings]
        return [*findings, *self._foreign]

    def take(self, lines: Iterable[bytes]) -> None:
        """Take the entries of the next batch."""
        previous: Entry | None = None
        for line in lines:
            entry = parse_entry(line)
            if entry is not None:
                is_sorted = previous is None or sort_key(previous) < sort_key(entry)
                self._take_entry(entry, is_sorted)
                previous = entry
            self._index += 1
        if self._pending >= PORTION:
            self._compare()

    def _take_entry(self, entry: Entry, is_sorted: bool) -> None:
        tp = TopicPartition(entry.topic, entry.partition)
        if tp in self._partitions:
            self._partitions[tp].take_entry(entry, self._index < self._published, is_sorted)
            self._pending += 1
        elif tp not in self._covered:
            what = f"entry {self._index} is of a partition that is not covered, or not there"
            place = f"{tp.topic}/{tp.partition}"
            bounds = entry.begin, entry.end - 1
            self._foreign.append(Violation(place, *bounds, "records_missing", what))

    def close(self) -> list[Coverage]:
        """Compare what is left, and count the records after the last entries."""
        self._compare()
        tps = list(self._partitions)
        starts, ends = self._log.starts(tps), self._log.ends(tps)
        begins = {tp: max(part.due, starts[tp]) for tp, part in self._partitions.items()}
        for record in records(self._log, tps, ends, begins):
            tp = TopicPartition(record.topic, record.partition)
            self._partitions[tp].coverage.leave_out(record.timestamp)
        for part in self._partitions.values():
            part.close()
        return [part.coverage for part in self._partitions.values()]

    def _compare(self) -> None:
        """Read the records below the last entries, and compare them."""
        tps = list(self._partitions)
        starts, ends = self._log.starts(tps), self._log.high_watermarks(tps)
        limits = {tp: min(part.due, ends[tp]) for tp, part in self._partitions.items()}
        begins = {tp: max(part.begin, starts[tp]) for tp, part in self._partitions.items()}
        for record in records(self._log, tps, limits, begins):
            self._partitions[TopicPartition(record.topic, record.partition)].take_record(record)
        for part in self._partitions.values():
            part.end_portion()
        self._pending = 0
