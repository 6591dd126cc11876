"""The runs that an agent has to begin, and the offsets that it may commit; without Kafka."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from streams.engine.records import Record, TopicPartition

Json = dict[str, Any]
MAX_ENDED = 100_000
"""How many ids of ended runs are remembered, the latest."""
END_GRACE_MS = 60_000
"""A run has ended when a later record was written this long after its timeout."""


class InboxRecord(NamedTuple):
    """A record that asks for a run; `due_ms` is when its timeout fires, ms since the epoch."""

    tp: TopicPartition
    run_id: str
    call: Json
    record: Record
    due_ms: int


class Intake:
    """The queue of one agent process; used in one thread.

    A run begins once its partition was read to its end after the assignment, so that earlier stops
    are known.  It begins once, even if the log delivers its record again.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, InboxRecord] = OrderedDict()
        self._running: set[str] = set()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._unfinished: dict[TopicPartition, deque[tuple[int, str | None]]] = {}
        self._read_to_end: set[TopicPartition] = set()
        self._now_ms: dict[TopicPartition, int] = {}

    def add_partitions(self, tps: Iterable[TopicPartition]) -> None:
        """Start reading these partitions from their committed offsets."""
        for tp in tps:
            self._unfinished[tp] = deque()

    def remove_partitions(self, tps: Collection[TopicPartition]) -> None:
        """Stop reading these partitions and drop the runs that wait there.

        Another process reads them now and begins those runs.  Runs that have begun go on.
        """
        for tp in tps:
            self._unfinished.pop(tp, None)
            self._read_to_end.discard(tp)
        for record in [record for record in self._waiting.values() if record.tp in tps]:
            del self._waiting[record.run_id]

    def mark_read_to_end(self, tps: Collection[TopicPartition]) -> None:
        """Mark these partitions as read to their ends."""
        self._read_to_end |= set(tps) & self._unfinished.keys()

    def add_record(self, record: Record, run_id: str | None = None) -> None:
        """Note that a record was read.

        run_id: the run that it asks for, None if it asks for none.
        """
        tp = TopicPartition(record.topic, record.partition)
        pending = self._unfinished.setdefault(tp, deque())
        if pending and pending[-1][0] >= record.offset:  # reassigned within one poll
            pending.clear()
        pending.append((record.offset, run_id))
        self._now_ms[tp] = record.timestamp

    def add_run(self, record: InboxRecord) -> None:
        """Queue a run, unless it waits, runs or has ended already."""
        known = self._running, self._ended, self._waiting
        if not any(record.run_id in runs for runs in known):
            self._waiting[record.run_id] = record
        self.add_record(record.record, record.run_id)

    def stop(self, run_id: str) -> bool:
        """Note that a run has ended without this agent; return whether it had begun here."""
        was_running = run_id in self._running
        self._waiting.pop(run_id, None)
        self.finish(run_id)
        return was_running

    def next_run(self) -> InboxRecord | None:
        """Return the next run to begin, in log order; None if there is none."""
        while (record := self._first()) is not None:
            del self._waiting[record.run_id]
            if record.due_ms + END_GRACE_MS >= self._now_ms[record.tp]:
                self._running.add(record.run_id)
                return record
            self.finish(record.run_id)
        return None

    def _first(self) -> InboxRecord | None:
        return next((one for one in self._waiting.values() if one.tp in self._read_to_end), None)

    def finish(self, run_id: str) -> None:
        """Note that a run has ended: its reply is acknowledged, or no reply is needed any more."""
        self._running.discard(run_id)
        self._ended[run_id] = None
        while len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)

    def committable_offsets(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield the partitions whose committable offset has advanced, with that offset."""
        for tp, pending in self._unfinished.items():
            offset = None
            while pending and not self._is_unfinished(pending[0][1]):
                offset = pending.popleft()[0] + 1
            if offset is not None:
                yield tp, offset

    def _is_unfinished(self, run_id: str | None) -> bool:
        return run_id is not None and (run_id in self._waiting or run_id in self._running)
