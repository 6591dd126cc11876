"""A task: all processing of one partition number.

Task p owns partition p of every input topic, one transactional producer, one RocksDB.  It works
in cycles: take records (or due timers), decide over an overlay of rows, write all output of the
cycle in one transaction, then apply the same rows to RocksDB.  The store is never ahead of the
log.  The next cycle may be decided while one commit is in flight; it reads through the rows of
that one.

The order of opening is what makes this exactly once: fence the former owner, restore, take the
positions from the restored rows, only then read.  After any doubt the task is closed and opened
again; nothing is retried in place.

The same code runs over Kafka and over the in-memory log; a host feeds it and drives it
(`streams.engine.worker`, `streams.engine.local`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from streams.engine import merge
from streams.engine.batch import Batch, BatchLimit
from streams.engine.gate import Gate
from streams.engine.global_tables import GlobalTables
from streams.engine.log import Log
from streams.engine.metrics import TaskMeasurements, WorkerMetrics
from streams.engine.poison import PoisonLimit
from streams.engine.positions import Positions
from streams.engine.principals import Principals
from streams.engine.processor import Processor, Timer
from streams.engine.records import Record, TopicPartition
from streams.engine.rows import Bytes, layered
from streams.engine.state import State
from streams.engine.step import Step
from streams.engine.task_macs import TaskMacs
from streams.engine.work import Context, refuse_unknown
from streams.registry.ids import RegistryIds
from streams.settings.service import ServiceSettings
from topology.acls import WORKERS_GROUP
from topology.declarations import Topic

log = logging.getLogger(__name__)

_MINUTE_MS = 60_000
_SKEW_MS = 500
_MAX_LINGER_RECORDS = 100
"""This many buffered records do not wait for others."""
_SIZE_S = 5.0
"""Interval between measurements of the store's size."""


def group_of(settings: ServiceSettings) -> str:
    """Return the consumer group of all workers of one environment."""
    return f"{settings.prefix}{WORKERS_GROUP}"


def transactional_id(settings: ServiceSettings, partition: int) -> str:
    """Return an id that is stable across owners, so that a new owner fences the old one."""
    return f"{group_of(settings)}-{partition}"


class Task:
    """One partition number.  `open`, `commit` and `close` block; all else is plain CPU."""

    def __init__(
        self,
        partition: int,
        processors: Sequence[Processor],
        source: Log,
        settings: ServiceSettings,
        directory: Path,
        clock: Callable[[], int],
        copies: GlobalTables | None = None,
        ids: RegistryIds | None = None,
        metrics: WorkerMetrics | None = None,
        *,
        on_append_time: Callable[[int], None] | None = None,
        traces_deliveries: bool = False,
    ) -> None:
        """Prepare the task.

        on_append_time: called with append times of records read.  traces_deliveries: as of Context.
        """
        self.partition = partition
        self.ids = ids
        self._metrics = metrics
        self.stopping = threading.Event()
        self._log, self._settings = source, settings
        self._clock, self._on_append_time = clock, on_append_time
        self._processors = sorted(processors, key=_share_order)
        prefix = settings.prefix
        inputs = [t for p in processors for t in p.declaration.inputs]
        tables = [t for p in processors for t in p.declaration.tables]
        self._macs = TaskMacs(settings, partition, [p.declaration for p in processors])
        self._context = Context(
            partition,
            settings.partitions,
            prefix,
            settings.as_work(),
            copies,
            Principals.of(settings.principal_key),
            traces_deliveries,
        )
        self._positions = Positions(prefix, partition, inputs)
        path = directory / str(partition)
        self._state = State(path, source, prefix, partition, tables, self._macs.checks)
        self.tps = {self._positions.tp(t): t for t in inputs}
        self._producer = source.producer(transactional_id(settings, partition))
        self._buffers: dict[Topic, merge.Buffer] = {}
        self._shares: list[tuple[Processor, list[merge.Buffer]]] = []
        self._pending: Bytes = {}
        self._decided: dict[Topic, int] = {}
        self._copies = copies
        self._fresh_readers = [p for p in processors if copies and _reads_fresh_tables(p)]
        self._fresh_counts: dict[Processor, int] = {}
        self._gate = Gate(source, self.tps, clock)
        self._poison = PoisonLimit(partition)
        self._skew_warned_ms = 0
        self.batch_limit = BatchLimit()
        self.restored, self.restore_s = 0, 0.0
        self._store_bytes, self._measured_at = 0, 0.0

    def open(self) -> None:
        """Fence, restore, load positions, read the ends.  Raises PositionsLost and others."""
        self._producer.open()
        start = time.monotonic()
        with self._state.locating():
            self.restored = self._state.open(self._clock(), self.stopping)
        self.restore_s = time.monotonic() - start
        self._measure()
        if self.stopping.is_set():
            return
        with self._state.locating():
            read, is_empty = self._state.get_positions, self._state.empty()
            self._macs.open(read, is_empty)
            self._positions.load(self._log, read, is_empty)
        self._decided = dict(self._positions.next)
        ends = self._log.ends(list(self.tps))
        self._buffers = {t: merge.Buffer(t, known=ends[tp]) for tp, t in self.tps.items()}
        self.read_end_offsets()

    def resume(self) -> dict[TopicPartition, int]:
        """Drop what was fetched before; return where to seek.  Only later fetches may be put."""
        self._fresh_counts = {}
        self._buffers = {
            topic: merge.Buffer(topic, self._positions.next[topic], None, former.known)
            for topic, former in self._buffers.items()
        }
        self._shares = [
            (p, [self._buffers[t] for t in p.declaration.inputs]) for p in self._processors
        ]
        return {tp: self._positions.next[topic] for tp, topic in self.tps.items()}

    def put(self, tp: TopicPartition, records: Sequence[Record]) -> None:
        self._buffers[self.tps[tp]].put(records)
        self._watch_clock(records[-1].timestamp)

    def _watch_clock(self, append_time: int) -> None:
        """Warn when the brokers' clock (deadlines) is ahead of this one (timers)."""
        now = self._clock()
        if append_time - now > _SKEW_MS and now - self._skew_warned_ms > _MINUTE_MS:
            self._skew_warned_ms = now
            log.warning("this clock is %d ms behind the broker's: set it", append_time - now)
        if self._on_append_time is not None:
            self._on_append_time(append_time)

    def set_fetch_position(self, tp: TopicPartition, offset: int, end: int | None) -> None:
        """Note the consumer's position, with all records below it put, and the known end."""
        buffer = self._buffers[self.tps[tp]]
        buffer.fetched = offset
        buffer.known = max(buffer.known, end or 0)

    def partitions_to_fetch(self) -> list[TopicPartition]:
        """List the inputs to fetch.  Back pressure is per topic: a full one must not starve
        others.
        """
        count = 2 * self._settings.batch
        return [tp for tp, t in self.tps.items() if not self._buffers[t].full(count)]

    def next_fetch_offset(self, tp: TopicPartition) -> int:
        """Return the next offset that this task needs."""
        return self._buffers[self.tps[tp]].next

    def idle(self) -> bool:
        return not any(buffer.records for buffer in self._buffers.values())

    def processors_to_catch_up(self) -> dict[Processor, int]:
        """Return the processors whose buffered records may read `fresh` replicas, and the counts.

        They decide that many records once the replicas are read to ends fetched from now on
        (`freshen`, which blocks) and the host has called `freshened`.
        """
        counts = {
            p: sum(len(self._buffers[t].records) for t in p.declaration.inputs)
            for p in self._fresh_readers
            if p not in self._fresh_counts
        }
        return {p: count for p, count in counts.items() if count}

    def catch_up(self, processors: Collection[Processor]) -> None:
        """Catch up the replicas that these processors read.  Raises BrokerUnavailable."""
        assert self._copies is not None
        tables = [t for p in processors for t in p.declaration.global_tables if t.caught_up]
        self._copies.catch_up(tables)

    def mark_caught_up(self, counts: dict[Processor, int]) -> None:
        self._fresh_counts.update(counts)

    def unresolved(self) -> set[int]:
        """Return schema ids of buffered records that the registry must still be asked about."""
        if self.ids is None:
            return set()
        return self.ids.missing(r.value for b in self._buffers.values() for r in b.records)

    def linger_s(self) -> float:
        """Return how long buffered records may wait for more, in seconds; 0 to decide them now."""
        wait, count = 0, 0
        for processor, buffers in self._shares:
            if here := sum(len(b.records) for b in buffers):
                count += here
                gather = processor.declaration.linger_ms
                if not gather or count >= _MAX_LINGER_RECORDS:
                    return 0.0
                wait = min(wait or gather, gather)
        return wait / 1000

    def next_batch(self) -> Batch | None:
        """Decide buffered records; return None when there is nothing to decide now."""
        nonempty = [share for share in self._shares if any(b.records for b in share[1])]
        records = self.batch_limit.records(self._settings.batch)
        quota = max(1, records // max(1, len(nonempty)))
        work = [
            (p, taken)
            for p, buffers in nonempty
            if (taken := merge.take(buffers, self._max_records(p, quota)))
        ]
        if not work:
            return None
        cycle, start = Batch(), time.perf_counter()
        for processor, taken in work:
            step = self._step(processor, cycle)
            judgements = self._macs.judge(taken, self._positions.serials)
            with self._state.locating():
                undecided = step.records(taken, judgements)
            for topic, record in reversed(undecided):
                self._buffers[topic].put_back(record)
            decided = taken[: len(taken) - len(undecided)]
            self._macs.note_decided(decided, judgements, cycle.serials)
            cycle.effects.add(step.effects)
            cycle.records += len(decided)
            cycle.decided[processor.declaration.name] += len(decided)
            cycle.poison += step.poison
            for topic, record in decided:
                cycle.offsets[topic] = record.offset + 1
        for topic, offset in cycle.offsets.items():
            cycle.offsets[topic] = self._buffers[topic].committed_position(offset)
        cycle.decide_s = time.perf_counter() - start
        return cycle

    def _max_records(self, processor: Processor, quota: int) -> int:
        """Limit the quota to the records buffered when the replicas it reads were caught up."""
        if processor in self._fresh_readers:
            return min(quota, self._fresh_counts.pop(processor, 0))
        return quota

    def _step(self, processor: Processor, cycle: Batch) -> Step:
        layers = [cycle.effects.rows, self._pending]
        return Step(processor, self._context, layered(layers, self._state.get_many))

    def timers_due(self) -> int | None:
        """Return the time up to which timers may fire now, or None; see `streams.engine.gate`."""
        return self._gate.firing_limit(self._state.next_due, self._position)

    def _position(self, tp: TopicPartition) -> int:
        topic = self.tps[tp]
        return self._buffers[topic].committed_position(self._positions.next[topic])

    @property
    def next_due(self) -> int | None:
        return self._state.next_due

    @property
    def due_in_s(self) -> float | None:
        """Return the seconds until the next timer is due, by the clock of this task."""
        due = self._state.next_due
        return None if due is None else (due - self._clock()) / 1000

    @property
    def needs_end_offsets(self) -> bool:
        """Return whether a timer is due that the known ends do not cover; then call `ask_ends`."""
        return self._gate.needs_end_offsets(self._state.next_due)

    def read_end_offsets(self) -> None:
        self._gate.read_end_offsets()

    def fire(self, limit_ms: int) -> Batch | None:
        """Fire timers due at `limit_ms` in a separate cycle.  Only with nothing in flight."""
        with self._state.locating():
            due = self._state.due(limit_ms, self.batch_limit.records(self._settings.batch))
        if not due:
            return None
        cycle, start = Batch(records=len(due), timers=True), time.perf_counter()
        by_processor: dict[str, list[Timer]] = {}
        tombstones: Bytes = {}
        for key, name, timer in due:
            tombstones[key] = None
            by_processor.setdefault(name, []).append(timer)
        refuse_unknown(by_processor, self._processors)
        cycle.effects.rows.update(tombstones)
        self._positions.drop_rows(tombstones, cycle.effects.outputs)
        for processor in self._processors:
            timers = by_processor.get(processor.declaration.name)
            if timers:
                step = self._step(processor, cycle)
                with self._state.locating():
                    step.timers(timers, limit_ms)
                cycle.effects.add(step.effects)
                cycle.poison += step.poison
                cycle.decided[processor.declaration.name] += len(timers)
        cycle.decide_s = time.perf_counter() - start
        return cycle

    def submit(self, cycle: Batch) -> None:
        """Make the cycle's rows and positions visible, as if committed.  Raises
        TooManyDeadLetters.
        """
        # Only now, because a cycle may be dropped before.
        self._poison.count(self._clock(), cycle.records, cycle.poison)
        rows, outputs = cycle.effects.rows, cycle.effects.outputs
        self._positions.advance(cycle.offsets, rows, outputs, cycle.serials)
        self._macs.add_opening(rows, outputs)
        self._pending = cycle.effects.rows

    def commit(self, cycle: Batch) -> None:
        """Commit one transaction, then store its rows.  Blocks; raises Fenced, CommitFailed."""
        start = time.perf_counter()
        ends = self._producer.commit(self._macs.sign(cycle.effects.outputs))
        own_ends = {tp: end for tp, end in ends.items() if tp.partition == self.partition}
        self._state.apply(cycle.effects.rows, own_ends, self._clock(), self._macs.last_serial)
        if self._metrics is not None:
            self._metrics.committed(cycle, time.perf_counter() - start)
        if time.monotonic() - self._measured_at > _SIZE_S:
            self._measure()

    def _measure(self) -> None:
        """Measure the store, in the thread that owns it."""
        self._store_bytes, self._measured_at = self._state.size_bytes(), time.monotonic()

    def measure(self, ready: bool) -> TaskMeasurements:
        """Return the task's measurements without blocking; any thread may call it."""
        due, now, decided = self._state.next_due, self._clock(), self._decided
        buffers = list(self._buffers.values())  # replaced as a whole, never changed
        lag = {
            b.topic.name: max(0, b.known - b.committed_position(decided[b.topic]))
            for b in buffers
            if b.topic in decided
        }
        delay_s = 0.0 if due is None else max(0.0, (now - due) / 1000)
        waits = self._gate.waits_ms(due, self._position)
        return TaskMeasurements(
            self.partition,
            ready,
            lag,
            delay_s,
            {b.topic.name: waits.get(self._positions.tp(b.topic), 0) / 1000 for b in buffers},
            self.restored,
            self.restore_s,
            self._store_bytes,
        )

    def mark_committed(self) -> None:
        """Note that the commit in flight is done and stored."""
        self._pending = {}
        self.batch_limit.count_commit()
        self._decided = dict(self._positions.next)

    def committed_offsets(self) -> dict[TopicPartition, int]:
        """Return the next offset of each input; the effects of all records below are committed."""
        return {tp: self._decided[t] for tp, t in self.tps.items() if t in self._decided}

    def close(self) -> None:
        """Close producer and store.  The next owner aborts an unfinished transaction."""
        self.stopping.set()
        try:
            self._producer.close()
        finally:
            self._state.close()


def _reads_fresh_tables(processor: Processor) -> bool:
    return any(table.caught_up for table in processor.declaration.global_tables)


def _share_order(processor: Processor) -> int:
    """Order internal inputs first: they finish work that was begun."""
    return 0 if any(t.internal for t in processor.declaration.inputs) else 1
