"""The in-memory log, for `headrace play` and tests.

It has partitions, offsets, transactions, fencing and compaction.
Every transaction is committed at once under one lock, so an open or aborted one is never in the
log.  A commit leaves a marker in each partition it wrote, as Kafka's does, so that code which
counts offsets instead of reading them fails here too.  `hold` simulates an open transaction of
another client on a partition.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from streams.engine.log import NewTopic, Pace, TopicInfo
from streams.engine.records import LogRecord, Output, Record, TopicPartition
from streams.errors import BrokerUnavailable, CommitFailed, Fenced, TopicsMismatch
from topology.keys import partition_of

Clock = Callable[[], int]


class MemoryTopic:
    """The records of a topic by offset; an empty slot is a marker or a compacted record."""

    def __init__(self, spec: NewTopic, topic_id: str) -> None:
        self.spec = spec
        self.topic_id = topic_id
        self.slots: list[list[LogRecord | None]] = [[] for _ in range(spec.partitions)]
        self.starts = [0] * spec.partitions
        self.append_time = spec.config.get("message.timestamp.type") == "LogAppendTime"


class MemoryLog:
    """A log in this process.  `clock` gives LogAppendTime in ms."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._topics: dict[str, MemoryTopic] = {}
        self._epochs: dict[str, int] = {}
        self._open_transactions: dict[TopicPartition, list[int]] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._lock = threading.RLock()
        self.grown = threading.Condition(self._lock)
        """A condition that every append and commit notifies."""
        self._ids = 0
        self._cluster = str(uuid.uuid4())
        self.on_append: Callable[[LogRecord], None] | None = None
        """A callback that is called with every record, in log order."""

    def cluster_id(self) -> str:
        return self._cluster

    def topics(self) -> dict[str, TopicInfo]:
        return {
            name: TopicInfo(name, topic.spec.partitions) for name, topic in self._topics.items()
        }

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        return {name: self._topic(name).topic_id for name in names}

    def create(self, topics: Sequence[NewTopic]) -> None:
        for spec in topics:
            if spec.name not in self._topics:
                self._ids += 1
                self._topics[spec.name] = MemoryTopic(spec, f"memory-{self._ids}")

    def delete(self, topic: str) -> None:
        del self._topics[topic]

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        with self.grown:
            self.grown.notify_all()
            return [self._append(output) for output in outputs]

    def submit(self, outputs: Sequence[Output]) -> Future[list[Record]]:
        future: Future[list[Record]] = Future()
        future.set_result(self.append(outputs))
        return future

    def _append(self, output: Output) -> LogRecord:
        topic = self._topic(output.topic)
        partition = output.partition
        if partition is None:
            partition = partition_of(output.key or b"", topic.spec.partitions)
        now = self.clock()
        stamp = now if topic.append_time or output.timestamp is None else output.timestamp
        slots = topic.slots[partition]
        record = LogRecord(
            output.topic, partition, len(slots), stamp, output.key, output.value, output.headers
        )
        slots.append(record)
        if self.on_append:
            self.on_append(record)
        return record

    def append_at(self, output: Output, timestamp: int) -> LogRecord:
        """Append with exactly this timestamp, whatever the topic's timestamp type."""
        with self._lock:
            record = self._append(output)._replace(timestamp=timestamp)
            self._topic(output.topic).slots[record.partition][record.offset] = record
            return record

    def starts(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self._topic(tp.topic).starts[tp.partition] for tp in tps}

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        with self._lock:
            return {tp: self.end(tp) for tp in tps}

    def end(self, tp: TopicPartition) -> int:
        """Return the last stable offset of one partition."""
        return min(self._open_transactions.get(tp, ()), default=len(self.slots(tp)))

    def high_watermarks(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        with self._lock:
            return {tp: len(self.slots(tp)) for tp in tps}

    def committed(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self._committed[tp] for tp in tps if tp in self._committed}

    def note_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets for the workers' group."""
        self._committed.update(offsets)

    def hold(self, tp: TopicPartition) -> int:
        """Simulate the begin of another client's transaction, and return its first offset.

        Records from that offset on are invisible until `release` is called with it.
        """
        with self._lock:
            offset = len(self.slots(tp))
            self._open_transactions.setdefault(tp, []).append(offset)
            return offset

    def release(self, tp: TopicPartition, offset: int) -> None:
        with self.grown:
            self._open_transactions[tp].remove(offset)
            if not self._open_transactions[tp]:
                del self._open_transactions[tp]
            self.grown.notify_all()

    def reader(
        self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END
    ) -> MemoryReader:
        return MemoryReader(self, positions)

    def producer(self, transactional_id: str) -> MemoryProducer:
        return MemoryProducer(self, transactional_id)

    def compact(self, topic: str) -> None:
        """Keep the latest record of each key; offsets stay."""
        for slots in self._topic(topic).slots:
            keys: set[bytes | None] = set()
            for offset in range(len(slots) - 1, -1, -1):
                record = slots[offset]
                if record is None:
                    continue
                if record.key in keys:
                    slots[offset] = None
                keys.add(record.key)

    def truncate(self, tp: TopicPartition, start: int) -> None:
        """Delete all records below `start`, as retention does."""
        topic = self._topic(tp.topic)
        topic.starts[tp.partition] = start
        topic.slots[tp.partition][:start] = [None] * start

    def slots(self, tp: TopicPartition) -> list[LogRecord | None]:
        return self._topic(tp.topic).slots[tp.partition]

    def _topic(self, name: str) -> MemoryTopic:
        try:
            return self._topics[name]
        except KeyError:
            raise TopicsMismatch(f"topic {name} does not exist; create it first") from None

    def _check_partition(self, output: Output) -> None:
        """Raise CommitFailed for a missing partition, before the transaction writes any record."""
        partitions = self._topic(output.topic).spec.partitions
        if output.partition is not None and not 0 <= output.partition < partitions:
            raise CommitFailed(f"{output.topic} has no partition {output.partition}")

    def open_producer(self, transactional_id: str) -> int:
        with self._lock:
            epoch = self._epochs.get(transactional_id, -1) + 1
            self._epochs[transactional_id] = epoch
            return epoch

    def commit(
        self,
        transactional_id: str,
        epoch: int,
        outputs: Sequence[Output],
    ) -> dict[TopicPartition, int]:
        with self._lock:
            if self._epochs[transactional_id] != epoch:
                raise Fenced(f"{transactional_id} has another owner now")
            for output in outputs:
                self._check_partition(output)
            ends: dict[TopicPartition, int] = {}
            for output in outputs:
                record = self._append(output)
                ends[TopicPartition(record.topic, record.partition)] = record.offset + 1
            for tp in ends:
                self.slots(tp).append(None)
            self.grown.notify_all()
            return ends

    def close(self) -> None:
        return None


class MemoryProducer:
    def __init__(self, log: MemoryLog, transactional_id: str) -> None:
        self._log = log
        self._id = transactional_id
        self._epoch = -1

    def open(self) -> None:
        self._epoch = self._log.open_producer(self._id)

    def commit(self, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        return self._log.commit(self._id, self._epoch, outputs)

    def close(self) -> None:
        return None


class MemoryReader:
    def __init__(self, log: MemoryLog, positions: Mapping[TopicPartition, int]) -> None:
        self._log = log
        self._positions = dict(positions)

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]:
        """Return new records; wait for some up to `timeout_s`, as Kafka's reader does."""
        with self._log.grown:
            before = dict(self._positions)
            records = self._read(max_records)
            if timeout_s > 0 and before == self._positions:
                self._log.grown.wait(timeout_s)
                records = self._read(max_records)
            return records

    def _read(self, max_records: int) -> list[Record]:
        records: list[Record] = []
        for tp, offset in self._positions.items():
            slots = self._log.slots(tp)
            if not self._log.starts([tp])[tp] <= offset <= len(slots):
                raise BrokerUnavailable(f"reading {tp.topic}/{tp.partition}: {offset} is not there")
            end = self._log.end(tp)
            while offset < end and len(records) < max_records:
                record = slots[offset]
                offset += 1
                if record is not None:
                    records.append(record)
            self._positions[tp] = offset
        return records

    def position(self, tp: TopicPartition) -> int:
        return self._positions[tp]

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self._positions[tp] = offset

    def first_since(self, at_ms: int) -> dict[TopicPartition, int]:
        if at_ms < 0:
            raise ValueError("Kafka has no times before the epoch")
        offsets = {}
        for tp in self._positions:
            slots = self._log.slots(tp)[: self._log.end(tp)]
            later = (n for n, each in enumerate(slots) if each and each.timestamp >= at_ms)
            if (offset := next(later, None)) is not None:
                offsets[tp] = offset
        return offsets

    def close(self) -> None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
