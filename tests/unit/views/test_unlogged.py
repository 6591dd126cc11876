"""Records without an entry in the transparency log are noted to the minute, by partition."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from streams.engine.records import LogRecord, Record, TopicPartition
from streams.view_store.unlogged import end_due, oldest_due, watch_unlogged
from streams.views.changes import MemoryStore, WriteBatch
from topology.core import AUDIT_CHECKPOINTS

TPS = [TopicPartition(AUDIT_CHECKPOINTS.name, number) for number in range(3)]
MINUTE_MS = 60_000


class NotingView:
    """A view that only notes records without an entry."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.applied: list[Record] = []
        self._apply = watch_unlogged({AUDIT_CHECKPOINTS.name: self._take})[AUDIT_CHECKPOINTS.name]

    def _take(self, topic: object, records: Sequence[Record], rows: WriteBatch) -> None:
        self.applied += records

    def read(self, *records: LogRecord) -> None:
        rows = WriteBatch(self.store)
        self._apply(AUDIT_CHECKPOINTS, records, rows)
        self.store.write(rows)

    def log_entries(self, number: int, end: int) -> None:
        rows = WriteBatch(self.store)
        end_due(rows, {TPS[number]: end})
        self.store.write(rows)

    def oldest(self) -> int | None:
        return oldest_due(self.store)


def record(number: int, offset: int, minute: float) -> LogRecord:
    return LogRecord(*TPS[number], offset, int(minute * MINUTE_MS), b"k", b"v")


def test_the_oldest_of_all_partitions_counts() -> None:
    view = NotingView()
    assert view.oldest() is None
    view.read(record(0, 5, 7.5), record(1, 2, 7.25), record(0, 6, 9))
    assert view.oldest() == 7.25 * MINUTE_MS
    view.log_entries(1, 3)
    assert view.oldest() == 7.5 * MINUTE_MS
    view.log_entries(0, 6)
    assert view.oldest() == 9 * MINUTE_MS
    view.log_entries(0, 7)
    assert view.oldest() is None
    assert [each.offset for each in view.applied] == [5, 2, 6]


def test_a_record_that_has_an_entry_when_it_is_read_is_not_noted() -> None:
    view = NotingView()
    view.log_entries(0, 6)
    view.read(record(0, 5, 1))
    assert view.oldest() is None
    view.read(record(0, 6, 2), record(0, 7, 2.5))
    view.log_entries(0, 7)
    assert view.oldest() == 2 * MINUTE_MS  # to the minute


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_the_age_is_right_to_the_minute(steps: list[tuple[int, int]]) -> None:
    view, counts, ends = NotingView(), [0, 0, 0], [0, 0, 0]
    times_ms: dict[tuple[int, int], int] = {}
    for step, (number, logged) in enumerate(steps):
        written = record(number, counts[number], step / 4)
        times_ms[number, counts[number]] = written.timestamp
        view.read(written)
        counts[number] += 1
        ends[logged] = max(ends[logged], counts[logged] - step % 2)
        view.log_entries(logged, ends[logged])
        due = [ms for (tp, offset), ms in times_ms.items() if offset >= ends[tp]]
        oldest_ms = view.oldest()
        if not due:
            assert oldest_ms is None
        else:
            assert oldest_ms is not None
            assert 0 <= min(due) - oldest_ms < MINUTE_MS
