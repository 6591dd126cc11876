"""A task: everything that happens on one partition number.

Task p owns partition p of every input topic, one transactional producer, one RocksDB.  It works
in cycles: take records (or due timers), decide over an overlay of rows, write everything the
cycle causes in one transaction, then apply the same rows to RocksDB.  The store never leads the
log.  The next cycle may be decided while one commit is in flight; it reads through the rows of
that one.

The order on opening is what makes this exactly once: fence the former owner, restore, take the
positions from the restored rows, only then read.  After any doubt the task is closed and opened
again; nothing is redone in place.

The same code runs over Kafka and over the in-memory log; a host feeds it and drives it
(`streams.engine.worker`, `streams.engine.local`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams.engine import merge
from streams.engine.copies import Copies
from streams.engine.gate import Gate
from streams.engine.log import Log
from streams.engine.metrics import TaskFigures, WorkerMetrics
from streams.engine.poison import PoisonLimit
from streams.engine.positions import Positions
from streams.engine.principals import Principals
from streams.engine.processor import Processor, Timer
from streams.engine.records import Record, TopicPartition
from streams.engine.rows import Bytes, layered
from streams.engine.state import State
from streams.engine.step import Step
from streams.engine.work import Context, Effects, refuse_unknown
from streams.registry.ids import RegistryIds
from streams.settings.service import ServiceSettings
from topology.acls import WORKERS_GROUP
from topology.declarations import Topic

log = logging.getLogger(__name__)

_MINUTE_MS = 60_000
_SKEW_MS = 500
_ENOUGH = 100
"""So many records in hand wait for no others."""
_SIZE_S = 5.0
"""Between two looks at the size of the store."""


def group_of(settings: ServiceSettings) -> str:
    """The consumer group that all workers of one environment form."""
    return f"{settings.prefix}{WORKERS_GROUP}"


def transactional_id(settings: ServiceSettings, partition: int) -> str:
    """Stable across owners, so that a new owner fences the old one."""
    return f"{group_of(settings)}-{partition}"


@dataclass(slots=True)
class Cycle:
    """What one transaction writes.  records: how many inputs or timers it judged.  poison: how
    many of them raised.  timers: it judged timers.  judged: how many, by processor.
    decide_s: how long that took."""

    effects: Effects = field(default_factory=Effects)
    offsets: dict[Topic, int] = field(default_factory=dict)
    records: int = 0
    poison: int = 0
    timers: bool = False
    judged: Counter[str] = field(default_factory=Counter)
    decide_s: float = 0.0


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
        copies: Copies | None = None,
        ids: RegistryIds | None = None,
        metrics: WorkerMetrics | None = None,
        *,
        heard: Callable[[int], None] | None = None,
    ) -> None:
        """heard: told the append times of what is read."""
        self.partition = partition
        self.ids = ids
        self._metrics = metrics
        self.stopping = threading.Event()
        self._log = source
        self._settings = settings
        self._clock, self._heard = clock, heard
        self._processors = sorted(processors, key=_share_order)
        prefix = settings.prefix
        inputs = [t for p in processors for t in p.declaration.inputs]
        tables = [t for p in processors for t in p.declaration.tables]
        self._context = Context(
            partition,
            settings.partitions,
            prefix,
            settings.as_work(),
            copies,
            Principals.of(settings.principal_key),
        )
        self._positions = Positions(prefix, partition, inputs)
        self._state = State(directory / str(partition), source, prefix, partition, tables)
        self.tps = {self._positions.tp(t): t for t in inputs}
        self._producer = source.producer(transactional_id(settings, partition))
        self._buffers: dict[Topic, merge.Buffer] = {}
        self._shares: list[tuple[Processor, list[merge.Buffer]]] = []
        self._pending: Bytes = {}
        self._decided: dict[Topic, int] = {}
        self._copies = copies
        self._asking = [p for p in processors if copies and _asks_fresh_copies(p)]
        self._fresh: dict[Processor, int] = {}
        self._gate = Gate(source, self.tps, clock)
        self._poison = PoisonLimit(partition)
        self._skew_told = 0
        self.restored = 0
        self.restore_s = 0.0
        self._store_bytes = 0
        self._sized_at = 0.0

    def open(self) -> None:
        """Fence, restore, find positions, ask for the ends.  Raises PositionsLost and others."""
        self._producer.open()
        begun = time.monotonic()
        self.restored = self._state.open(self._clock(), self.stopping)
        self.restore_s = time.monotonic() - begun
        self._measure()
        if self.stopping.is_set():
            return
        self._positions.load(self._log, self._state.get_many, self._state.empty())
        self._decided = dict(self._positions.next)
        ends = self._log.ends(list(self.tps))
        self._buffers = {t: merge.Buffer(t, known=ends[tp]) for tp, t in self.tps.items()}
        self.ask_ends()

    def resume(self) -> dict[TopicPartition, int]:
        """Drop what was fetched before; returns where to seek.  Only later fetches may be put."""
        self._fresh = {}
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
        """Timers run by this clock, deadlines by the log's: say when they part."""
        now = self._clock()
        if append_time - now > _SKEW_MS and now - self._skew_told > _MINUTE_MS:
            self._skew_told = now
            log.warning("this clock is %d ms behind the broker's: set it", append_time - now)
        if self._heard is not None:
            self._heard(append_time)

    def fetched_to(self, tp: TopicPartition, offset: int, end: int | None) -> None:
        """The consumer stands at offset, with everything below it put in; `end` as last heard."""
        buffer = self._buffers[self.tps[tp]]
        buffer.fetched = offset
        buffer.known = max(buffer.known, end or 0)

    def hungry(self) -> list[TopicPartition]:
        """Inputs to fetch: back pressure is per topic, or a full one would starve its partner."""
        count = 2 * self._settings.batch
        return [tp for tp, t in self.tps.items() if not self._buffers[t].full(count)]

    def seek_of(self, tp: TopicPartition) -> int:
        """The next offset this task wants to be given."""
        return self._buffers[self.tps[tp]].next

    def idle(self) -> bool:
        return not any(buffer.records for buffer in self._buffers.values())

    def stale(self) -> dict[Processor, int]:
        """Processors with records in hand that may ask copies which must be fresh, and how many.

        They decide so many once the copies have been read to ends that were asked for now
        (`freshen`, which blocks), and the host has said so (`freshened`).
        """
        waiting = {
            p: sum(len(self._buffers[t].records) for t in p.declaration.inputs)
            for p in self._asking
            if p not in self._fresh
        }
        return {p: count for p, count in waiting.items() if count}

    def freshen(self, processors: Collection[Processor]) -> None:
        """Have the copies read on that these may ask.  Raises BrokerUnavailable."""
        assert self._copies is not None
        tables = [t for p in processors for t in p.declaration.copies if t.fresh]
        self._copies.freshen(tables)

    def freshened(self, counts: dict[Processor, int]) -> None:
        self._fresh.update(counts)

    def unresolved(self) -> set[int]:
        """Schema ids of records in hand that the registry is still to be asked about."""
        if self.ids is None:
            return set()
        return self.ids.missing(r.value for b in self._buffers.values() for r in b.records)

    def gathers_s(self) -> float:
        """How long what is in hand may wait for more, in seconds; 0 when it is to be done now."""
        wait, count = 0, 0
        for processor, buffers in self._shares:
            if here := sum(len(b.records) for b in buffers):
                count += here
                gather = processor.declaration.gather_ms
                if not gather or count >= _ENOUGH:
                    return 0.0
                wait = min(wait or gather, gather)
        return wait / 1000

    def next_cycle(self) -> Cycle | None:
        """Decide what lies in the buffers; None when there is nothing to decide now."""
        waiting = [share for share in self._shares if any(b.records for b in share[1])]
        quota = max(1, self._settings.batch // max(1, len(waiting)))
        work = [
            (p, taken)
            for p, buffers in waiting
            if (taken := merge.take(buffers, self._limit(p, quota)))
        ]
        if not work:
            return None
        cycle, begun = Cycle(), time.perf_counter()
        for processor, taken in work:
            step = self._step(processor, cycle)
            left = step.records(taken)
            for topic, record in reversed(left):
                self._buffers[topic].put_back(record)
            decided = taken[: len(taken) - len(left)]
            cycle.effects.add(step.effects)
            cycle.records += len(decided)
            cycle.judged[processor.declaration.name] += len(decided)
            cycle.poison += step.poison
            for topic, record in decided:
                cycle.offsets[topic] = record.offset + 1
        for topic, offset in cycle.offsets.items():
            cycle.offsets[topic] = self._buffers[topic].stands(offset)
        cycle.decide_s = time.perf_counter() - begun
        return cycle

    def _limit(self, processor: Processor, quota: int) -> int:
        """No more than what was in hand when the copies that it asks were read."""
        if processor in self._asking:
            return min(quota, self._fresh.pop(processor, 0))
        return quota

    def _step(self, processor: Processor, cycle: Cycle) -> Step:
        layers = [cycle.effects.rows, self._pending]
        return Step(processor, self._context, layered(layers, self._state.get_many))

    def timers_due(self) -> int | None:
        """The clock up to which timers may fire now, or None: see `streams.engine.gate`."""
        return self._gate.opens_to(self._state.next_due, self._stands)

    def _stands(self, tp: TopicPartition) -> int:
        topic = self.tps[tp]
        return self._buffers[topic].stands(self._positions.next[topic])

    @property
    def next_due(self) -> int | None:
        return self._state.next_due

    @property
    def due_in_s(self) -> float | None:
        """Until the next timer is due, by the clock of this task."""
        due = self._state.next_due
        return None if due is None else (due - self._clock()) / 1000

    @property
    def ends_wanted(self) -> bool:
        """A timer is due that the ends known do not cover: `ask_ends`."""
        return self._gate.wants_ends(self._state.next_due)

    def ask_ends(self) -> None:
        """Ask the log where the inputs end.  Blocks."""
        self._gate.ask()

    def fire(self, limit_ms: int) -> Cycle | None:
        """Timers due at limit_ms, in a cycle of their own.  Only with nothing in flight."""
        due = self._state.due(limit_ms, self._settings.batch)
        if not due:
            return None
        cycle, begun = Cycle(records=len(due), timers=True), time.perf_counter()
        by_processor: dict[str, list[Timer]] = {}
        gone: Bytes = {}
        for key, name, timer in due:
            gone[key] = None
            by_processor.setdefault(name, []).append(timer)
        refuse_unknown(by_processor, self._processors)
        cycle.effects.rows.update(gone)
        self._positions.drop_rows(gone, cycle.effects.outputs)
        for processor in self._processors:
            timers = by_processor.get(processor.declaration.name)
            if timers:
                step = self._step(processor, cycle)
                step.timers(timers, limit_ms)
                cycle.effects.add(step.effects)
                cycle.poison += step.poison
                cycle.judged[processor.declaration.name] += len(timers)
        cycle.decide_s = time.perf_counter() - begun
        return cycle

    def submit(self, cycle: Cycle) -> None:
        """From now on the cycle's rows are read, and its positions count, as if committed.

        Raises TooManyDeadLetters.
        """
        # Not earlier: a cycle may be dropped.
        self._poison.count(self._clock(), cycle.records, cycle.poison)
        self._positions.advance(cycle.offsets, cycle.effects.rows, cycle.effects.outputs)
        self._pending = cycle.effects.rows

    def commit(self, cycle: Cycle) -> None:
        """One transaction, then one write to the store.  Blocks; raises Fenced, CommitFailed."""
        begun = time.perf_counter()
        ends = self._producer.commit(cycle.effects.outputs)
        mine = {tp: end for tp, end in ends.items() if tp.partition == self.partition}
        self._state.apply(cycle.effects.rows, mine, self._clock())
        if self._metrics is not None:
            self._metrics.committed(cycle, time.perf_counter() - begun)
        if time.monotonic() - self._sized_at > _SIZE_S:
            self._measure()

    def _measure(self) -> None:
        """In the thread that owns the store."""
        self._store_bytes, self._sized_at = self._state.size_bytes(), time.monotonic()

    def figures(self, ready: bool) -> TaskFigures:
        """Any thread may ask; nothing is waited for."""
        due, now, decided = self._state.next_due, self._clock(), self._decided
        buffers = list(self._buffers.values())  # replaced as a whole, never changed
        lag = {
            b.topic.name: max(0, b.known - b.stands(decided[b.topic]))
            for b in buffers
            if b.topic in decided
        }
        late = 0.0 if due is None else max(0.0, (now - due) / 1000)
        waits = self._gate.waits_ms(due, self._stands)
        return TaskFigures(
            self.partition,
            ready,
            lag,
            late,
            {b.topic.name: waits.get(self._positions.tp(b.topic), 0) / 1000 for b in buffers},
            self.restored,
            self.restore_s,
            self._store_bytes,
        )

    def settled(self) -> None:
        """The commit in flight is done and stored."""
        self._pending = {}
        self._decided = dict(self._positions.next)

    def decided(self) -> dict[TopicPartition, int]:
        """The next offset of each input; all that lies below has its effects committed."""
        return {tp: self._decided[t] for tp, t in self.tps.items() if t in self._decided}

    def close(self) -> None:
        """Close producer and store.  An unfinished transaction is aborted by the next owner."""
        self.stopping.set()
        try:
            self._producer.close()
        finally:
            self._state.close()


def _asks_fresh_copies(processor: Processor) -> bool:
    return any(table.fresh for table in processor.declaration.copies)


def _share_order(processor: Processor) -> int:
    """Internal inputs first: they finish what was begun."""
    return 0 if any(t.between for t in processor.declaration.inputs) else 1
