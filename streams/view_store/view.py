"""A read-only copy of fact and table topics in RocksDB, from which all queries are answered.

It can be deleted at any time: it is rebuilt from the log.  One thread drives it; `LiveView` does
that with a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import orjson

from streams.engine.log import Log, Pace, Reader
from streams.engine.records import Record, TopicPartition
from streams.engine.store import Snapshot, Store
from streams.errors import StoreFailed
from streams.telemetry.progress import progress
from streams.view_store.later import refuse_later
from streams.view_store.rows import FOLLOWED, answer_row, answered
from streams.view_store.source import Source
from streams.views.changes import Changes
from streams.views.keys import key
from streams.views.positions import Position, ViewBehind
from streams.views.reads import KeptReads

_IDENTITY = key("", "identity")
_AT_END = key("", "at end")
_ANSWERED = key("", "answered")
_POLL_S = 0.02
_AT_ONCE = 10_000


class View(KeptReads):
    """prefix: of topic names.  clock: ms since the epoch.

    begun_anew: why it is empty, None when it goes on from an earlier copy.  at_once: most
    records of one step.  applied, batches, apply_s: records and batches applied, and the seconds
    that took.  on_written: is told the keys of the rows that a step has written.  What other
    threads may read, `positions` and `has_answer`, never runs ahead of the rows.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str = "",
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._log = log
        self._prefix = prefix
        self._clock = clock
        self.at_once = _AT_ONCE
        self.applied = self.batches = 0
        self.apply_s = 0.0
        self.on_written: Callable[[Collection[bytes]], None] = lambda keys: None
        self._source = Source(log, prefix)
        self._store = _open(path)
        self._load()
        self.begun_anew = self._why_not(self._source)
        if self.begun_anew:
            self._store.close()
            Store.destroy(path)
            self._store = _open(path)
            self._store.write({_IDENTITY: self._source.identity, _AT_END: str(clock()).encode()})
            self._load()
        super().__init__(self._store)
        self._reader: Reader = log.reader(self._positions, Pace.GATHERED)

    def _load(self) -> None:
        """What the rows say of the copy itself."""
        self._identity = self._store.get(_IDENTITY)
        self._at_end = int(self._store.get(_AT_END) or b"0")
        starts = self._log.starts(self._source.partitions)
        kept = self._store.get_many([_position_key(tp) for tp in starts])
        self._positions = {
            tp: start if offset is None else int(offset)
            for (tp, start), offset in zip(starts.items(), kept, strict=True)
        }
        self._answered: dict[tuple[str, int], int] = {}
        for _, row in self._store.scan(_ANSWERED):
            topic, partition, offset = orjson.loads(row)
            self._answered[topic, partition] = offset

    @property
    def partitions(self) -> Sequence[TopicPartition]:
        """All that is followed."""
        return self._source.partitions

    def of_task(self, number: int) -> Sequence[TopicPartition]:
        """The partitions of these that the task of that number writes."""
        return self._source.of_task(number)

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset of each partition: all below it is applied."""
        return MappingProxyType(self._positions)

    def step(self, timeout_s: float) -> int:
        """Read and apply what is there, waiting at most that long; how many records it was.

        Raises InternalUnreadable before a record of a later version, and applies nothing then.
        """
        records = self._reader.poll(timeout_s, self.at_once)
        began = time.perf_counter()
        rows = Changes(self._store)
        answers: dict[tuple[str, int], int] = {}
        for name, group in _by_topic(records).items():
            topic = self._source.topics[name]
            refuse_later(topic, group)
            if apply := FOLLOWED[topic.name]:
                apply(topic, group, rows)
            self._note_answers(answered(topic, group), rows, answers)
        moved = self._moved(rows)
        if rows.settle():
            self._store.write(rows)
            self._answered.update(answers)
            self._positions.update(moved)
            self.on_written(rows.keys())
        if records:
            self.apply_s += time.perf_counter() - began
            self.applied += len(records)
            self.batches += 1
        return len(records)

    def _note_answers(
        self,
        latest: Mapping[tuple[str, int], int],
        rows: Changes,
        answers: dict[tuple[str, int], int],
    ) -> None:
        for source, offset in latest.items():
            if offset > answers.get(source, self._answered.get(source, -1)):
                answers[source] = offset
                rows[_ANSWERED + key(*source)] = orjson.dumps((*source, offset))

    def _moved(self, rows: Changes) -> dict[TopicPartition, int]:
        """Positions that the reader has left."""
        moved = {}
        for tp, known in self._positions.items():
            now = self._reader.position(tp)
            if now != known:
                moved[tp] = now
                rows[_position_key(tp)] = b"%d" % now
        return moved

    def catch_up(self, patience_s: float) -> None:
        """Read up to the ends that the topics have now.

        Raises ViewBehind when nothing was read for that long.
        """
        began_ms, ends = self._clock(), self._log.high_watermarks(self.partitions)
        deadline, total = time.monotonic() + patience_s, self.short_of(ends)
        with progress("read the log into a view", total) as bar:
            while left := self.short_of(ends):
                bar.reach(total - left)
                if self.step(_POLL_S):
                    deadline = time.monotonic() + patience_s
                elif time.monotonic() >= deadline and self.short_of(ends):
                    raise ViewBehind(None, self.short_of(ends))
        self.note_at_end(began_ms)

    def wait(self, position: Position, timeout_s: float) -> None:
        """Until the answer to that record is seen, then up to the ends that the topics have.

        With no time to wait, what is on the log now decides.  Raises ViewBehind.
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
        """Everything that the topics held at that time is applied."""
        self._at_end = at_ms
        self._store.write({_AT_END: str(at_ms).encode()})

    def has_answer(self, position: Position) -> bool:
        """Whether the verdict or the dead letter of that record was seen."""
        if self._answered.get((position.topic, position.partition), -1) < position.offset:
            return False
        row = answer_row(position._replace(topic=position.topic.removeprefix(self._prefix)))
        return row is None or self._store.get(row) is not None

    def lag(self) -> int:
        """How many offsets lie between the view and the ends that the topics have now."""
        return self.short_of(self._log.ends(self.partitions))

    def short_of(self, ends: Mapping[TopicPartition, int]) -> int:
        """How many offsets lie between the view and these."""
        return sum([max(0, end - self._positions[tp]) for tp, end in ends.items()])

    def why_not(self, *, same_topics: bool = False) -> str | None:
        """Why this copy cannot go on, None if it can.  Asks the log; any thread may call it.

        same_topics: take for granted that none was created again, which the client cannot be asked
        all the time.  Raises TopicsMismatch when topics are missing, BrokerUnavailable.
        """
        if same_topics:
            return self._source.moved() or self._why_not(self._source)
        return self._why_not(Source(self._log, self._prefix))

    def _why_not(self, source: Source) -> str | None:
        positions = dict(self._positions)  # as they were before the ends are asked for
        return source.why_not(self._identity, positions, self._at_end, self._clock())

    def damage(self) -> str | None:
        """What is amiss with its files, None if nothing is."""
        return self._store.damage()

    def rows_bytes(self) -> int:
        return self._store.size_bytes()

    def snapshot(self) -> Snapshot:
        """The rows as they are now; any thread may read it."""
        return self._store.snapshot()

    def reread(self) -> None:
        """Go on with a new reader, after the old one has failed."""
        self._reader.close()
        self._reader = self._log.reader(self._positions, Pace.GATHERED)

    def close(self) -> None:
        self._reader.close()
        self._store.flush()
        self._store.close()

    def drop(self) -> None:
        """Close it and remove the copy."""
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


def _open(path: Path) -> Store:
    try:
        return Store(path)
    except StoreFailed:
        Store.destroy(path)
        return Store(path)


def _position_key(tp: TopicPartition) -> bytes:
    return key("", "position", tp.topic, tp.partition)


def _by_topic(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.topic, []).append(record)
    return groups
