"""The order in which a processor takes records from a task's buffers.

A processor with several inputs takes records by (timestamp, declared order, offset).  It stops
before an input whose buffer is empty while the log is known to hold more of it: with a backlog, a
cancel must not be read before the task it cancels.  No time limit ends that wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.engine.records import Record
from streams.engine.step import InputRecord
from topology.declarations import Topic

_BYTES = 8 << 20


@dataclass(slots=True)
class Buffer:
    """Fetched records of one input that are not decided yet.

    next: the offset of the next record to put; records below it were put before.
    fetched: the consumer's position, with all records below it put; None: unknown.
    known: the latest known end offset of the log.
    """

    topic: Topic
    next: int = 0
    fetched: int | None = None
    known: int = 0
    records: deque[Record] = field(default_factory=deque)
    size: int = 0

    def put(self, records: Sequence[Record]) -> None:
        """Add fetched records except those put before: a seek may deliver a list twice."""
        for record in records:
            if record.offset >= self.next:
                self.records.append(record)
                self.size += _size(record)
                self.next = record.offset + 1

    def take(self) -> Record:
        record = self.records.popleft()
        self.size -= _size(record)
        return record

    def put_back(self, record: Record) -> None:
        """Undo the last `take`."""
        self.records.appendleft(record)
        self.size += _size(record)

    def full(self, count: int) -> bool:
        return len(self.records) >= count or self.size >= _BYTES

    def is_lagging(self) -> bool:
        """Check whether the buffer is empty while the log is known to hold more."""
        position = self.next if self.fetched is None else max(self.fetched, self.next)
        return not self.records and position < self.known

    def committed_position(self, position: int) -> int:
        """Return the task's position, advanced over markers when the buffer is empty."""
        return position if self.fetched is None or self.records else max(self.fetched, position)


def _size(record: Record) -> int:
    return len(record.value or b"") + len(record.key or b"") + 64


def take(buffers: Sequence[Buffer], count: int) -> list[InputRecord]:
    """Take up to `count` records (and 8 MiB) of one processor's inputs, in order."""
    taken: list[InputRecord] = []
    size = 0
    while len(taken) < count and size < _BYTES:
        if any(buffer.is_lagging() for buffer in buffers):
            break
        oldest = _first(buffers)
        if oldest is None:
            break
        size += _size(oldest.records[0])
        taken.append((oldest.topic, oldest.take()))
    return taken


def _first(buffers: Sequence[Buffer]) -> Buffer | None:
    best: Buffer | None = None
    for buffer in buffers:
        if buffer.records and (
            best is None or buffer.records[0].timestamp < best.records[0].timestamp
        ):
            best = buffer
    return best
