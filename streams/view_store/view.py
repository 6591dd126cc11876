"""A read-only view of fact and table topics in RocksDB, from which all queries are answered.

It can be deleted at any time: it is rebuilt from the log.  One thread drives it; `LiveView` uses a
thread of its own for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

import orjson

from streams.engine.log import Log, Pace, Reader
from streams.engine.mac_checks import MacChecks
from streams.engine.records import Record, TopicPartition
from streams.engine.refusal_marks import accepted_records
from streams.engine.store import Snapshot, Store
from streams.errors import StoreFailed
from streams.settings.service import ServiceSettings
from streams.telemetry.progress import progress
from streams.view_store.apply import apply_records, by_topic
from streams.view_store.input_ends import InputEnds
from streams.view_store.rows import causes_of, verdict_row_key
from streams.view_store.source import Source
from streams.views.changes import WriteBatch
from streams.views.keys import key
from streams.views.positions import Position, ViewBehind
from streams.views.reads import StoredRows
from topology import topics
from topology.declarations import Topic

if TYPE_CHECKING:
    from streams.view_store.transparency import TransparencyLog

_IDENTITY = key("", "identity")
_AT_END = key("", "at end")
_ANSWERED = key("", "answered")
_POLL_S = 0.02
_STEP_RECORDS = 10_000


class View(StoredRows):
    """A view over the log in one RocksDB store.

    prefix: of topic names.  clock: ms since the epoch.
    set_aside: positions, separated by commas, of records that are skipped if their schema is
    unknown.
    transparency: the transparency log that it follows too, if there is one.
    macs: checks of records; those that no processor has written are not applied.
    begun_anew: why the store was rebuilt; None if the existing one is used.
    at_once: maximum number of records per step.
    applied, batches, apply_s: records and batches applied, and the seconds this took.
    skipped: how many of the records only an intruder can have written.
    on_applied: called with the topics by name and the records of a step, before its rows are there.
    on_written: called with the keys of the rows that a step has written. Other threads may read
    `positions` and `has_answer`; these never run ahead of the rows.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str = "",
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        set_aside: str = "",
        transparency: TransparencyLog | None = None,
        macs: MacChecks | None = None,
    ) -> None:
        self._log, self._transparency, self._macs = log, transparency, macs
        self._set_aside = frozenset(filter(None, set_aside.split(",")))
        self._prefix = prefix
        self._clock = clock
        self.at_once = _STEP_RECORDS
        self.applied = self.batches = self.skipped = 0
        self.apply_s = 0.0
        self.on_written: Callable[[Collection[bytes]], None] = lambda keys: None
        self.on_applied: Callable[[Mapping[str, Topic], Sequence[Record]], None] | None = None
        self._source = Source(log, prefix, transparency, macs)
        self._inputs = InputEnds(log, prefix)
        self._store = _open(path)
        self._load()
        self.begun_anew = self._rebuild_reason(self._source)
        if self.begun_anew:
            self._store.close()
            Store.destroy(path)
            self._store = _open(path)
            self._store.write({_IDENTITY: self._source.identity, _AT_END: str(clock()).encode()})
            self._load()
        super().__init__(self._store)
        self._reader: Reader = log.reader(self._positions, Pace.GATHERED)

    def _load(self) -> None:
        """Read the identity and the positions that the store holds about itself."""
        self._identity = self._store.get(_IDENTITY)
        self._at_end = int(self._store.get(_AT_END) or b"0")
        starts = self._log.starts(self._source.partitions)
        stored = self._store.get_many([_position_key(tp) for tp in starts])
        self._positions = {
            tp: start if offset is None else int(offset)
            for (tp, start), offset in zip(starts.items(), stored, strict=True)
        }
        serials = self._store.get_many([_serials_key(tp) for tp in starts])
        self._serials = {
            tp: {int(task): serial for task, serial in orjson.loads(row).items()}
            for tp, row in zip(starts, serials, strict=True)
            if row is not None
        }
        stored_answers = {}
        for _, row in self._store.scan(_ANSWERED):
            topic, partition, offset = orjson.loads(row)
            stored_answers[TopicPartition(topic, partition)] = [offset]
        self._answered = self._inputs.last_existing(stored_answers)

    @property
    def partitions(self) -> Sequence[TopicPartition]:
        """Return all followed partitions."""
        return self._source.partitions

    def of_task(self, number: int) -> Sequence[TopicPartition]:
        """Return the followed partitions that a task writes."""
        return self._source.of_task(number)

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """Return the next offset of each partition; all records below it are applied."""
        return MappingProxyType(self._positions)

    def step(self, timeout_s: float) -> int:
        """Read and apply the available records, waiting at most `timeout_s`; return their number.

        Raises InternalUnreadable before a record of a later version; then nothing is applied.
        """
        records = self._reader.poll(timeout_s, self.at_once)
        began = time.perf_counter()
        source = self._source
        new_serials = {tp: dict(last) for tp, last in self._serials.items()}
        accepted, _ = accepted_records(self._macs, records, new_serials)
        rows, readable = apply_records(
            source.topics, accepted, self._store, self._set_aside, source.followed
        )
        for tp, last in new_serials.items():
            if last != self._serials.get(tp):
                rows[_serials_key(tp)] = orjson.dumps({str(task): n for task, n in last.items()})
        answers = self._record_answers(readable, rows)
        new_positions = self._update_positions(rows)
        if self.on_applied is not None:
            self.on_applied(self._source.topics, readable)
        if rows:
            self._store.write(rows)
            self._answered.update(answers)
            self._positions.update(new_positions)
            self._serials = new_serials
            self.on_written(rows.keys())
        self.skipped += len(records) - len(readable)
        if records:
            self.apply_s += time.perf_counter() - began
            self.applied += len(records)
            self.batches += 1
        return len(records)

    def _record_answers(
        self, records: Sequence[Record], rows: WriteBatch
    ) -> dict[TopicPartition, int]:
        """Return the last answered offsets that have changed, and add them to the write batch."""
        offsets: dict[TopicPartition, list[int]] = {}
        for name, group in by_topic(records).items():
            for tp, numbers in causes_of(self._source.topics[name], group).items():
                offsets.setdefault(tp, []).extend(numbers)
        latest = self._inputs.last_existing(offsets)
        answers = {tp: n for tp, n in latest.items() if n > self._answered.get(tp, -1)}
        for tp, offset in answers.items():
            rows[_ANSWERED + key(*tp)] = orjson.dumps((*tp, offset))
        return answers

    def _update_positions(self, rows: WriteBatch) -> dict[TopicPartition, int]:
        """Return the positions that have changed, and add them to the write batch."""
        new_positions = {}
        for tp, known in self._positions.items():
            now = self._reader.position(tp)
            if now != known:
                new_positions[tp] = now
                rows[_position_key(tp)] = b"%d" % now
        return new_positions

    def catch_up(self, patience_s: float) -> None:
        """Read up to the current ends of the topics.

        Raises ViewBehind if nothing was read for `patience_s`.
        """
        began_ms, ends = self._clock(), self._log.high_watermarks(self.partitions)
        deadline, total = time.monotonic() + patience_s, self.short_of(ends)
        with progress("read the log into a view", total) as bar:
            while remaining := self.short_of(ends):
                bar.reach(total - remaining)
                if self.step(_POLL_S):
                    deadline = time.monotonic() + patience_s
                elif time.monotonic() >= deadline and self.short_of(ends):
                    raise ViewBehind(None, self.short_of(ends))
        self.note_at_end(began_ms)

    def wait(self, position: Position, timeout_s: float) -> None:
        """Read until the verdict on a record is seen, then up to the current ends of the topics.

        With a timeout of 0 only records that are on the log now are read.  Raises ViewBehind.
        """
        deadline = time.monotonic() + timeout_s
        while not self.has_answer(position):
            read = self.step(_POLL_S if timeout_s else 0)
            if not read and time.monotonic() >= deadline and not self.has_answer(position):
                raise ViewBehind(position, self.lag())
        began_ms, ends = self._clock(), self._log.high_watermarks(self.partitions)
        while self.short_of(ends):
            if not self.step(_POLL_S) and time.monotonic() >= deadline and self.short_of(ends):
                raise ViewBehind(position, self.short_of(ends))
        self.note_at_end(began_ms)

    def note_at_end(self, at_ms: int) -> None:
        """Record that everything the topics held at that time is applied."""
        self._at_end = at_ms
        self._store.write({_AT_END: str(at_ms).encode()})

    def has_answer(self, position: Position) -> bool:
        """Return whether the verdict or the dead letter of a record was seen."""
        if (
            self._answered.get(TopicPartition(position.topic, position.partition), -1)
            < position.offset
        ):
            return False
        row = verdict_row_key(position._replace(topic=position.topic.removeprefix(self._prefix)))
        return row is None or self._store.get(row) is not None

    def lag(self) -> int:
        """Return how many offsets lie between the view and the current ends of the topics."""
        return self.short_of(self._log.ends(self.partitions))

    def short_of(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return how many offsets lie between the view and these ends."""
        return sum([max(0, end - self._positions[tp]) for tp, end in ends.items()])

    def why_not(self, *, same_topics: bool = False) -> str | None:
        """Return why this store cannot be continued, None if it can.

        Queries the log; any thread may call it.
        same_topics: do not check whether a topic was created again, which the client cannot be
        asked often.
        Raises TopicsMismatch if topics are missing, BrokerUnavailable.
        """
        if same_topics:
            return self._source.identity_change() or self._rebuild_reason(self._source)
        source = Source(self._log, self._prefix, self._transparency, self._macs)
        return self._rebuild_reason(source)

    def _rebuild_reason(self, source: Source) -> str | None:
        positions = dict(self._positions)  # copied before the ends are read
        return source.why_not(self._identity, positions, self._at_end, self._clock())

    def damage(self) -> str | None:
        """Return what is wrong with the store's files, None if nothing is."""
        return self._store.damage()

    def rows_bytes(self) -> int:
        return self._store.size_bytes()

    def snapshot(self) -> Snapshot:
        """Return the current rows; any thread may read them."""
        return self._store.snapshot()

    def reread(self) -> None:
        """Replace the reader after it has failed."""
        self._reader.close()
        self._reader = self._log.reader(self._positions, Pace.GATHERED)

    def close(self) -> None:
        self._reader.close()
        self._store.flush()
        self._store.close()

    def drop(self) -> None:
        """Close the store and remove it."""
        self._reader.close()
        with suppress(StoreFailed):
            self._store.close()
        Store.destroy(self._store.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def checks_of(settings: ServiceSettings) -> MacChecks | None:
    """Return the checks of all records that a view reads; None without a key for MACs."""
    return MacChecks.of(settings, topics.ALL)


def _open(path: Path) -> Store:
    try:
        return Store(path)
    except StoreFailed:
        Store.destroy(path)
        return Store(path)


def _position_key(tp: TopicPartition) -> bytes:
    return key("", "position", tp.topic, tp.partition)


def _serials_key(tp: TopicPartition) -> bytes:
    return key("", "serials", tp.topic, tp.partition)
