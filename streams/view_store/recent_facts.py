"""The facts that a live view has read last, so that a request for them asks no broker."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from streams.engine.records import Record
from streams.views.positions import Position
from topology.declarations import Topic, TopicKind

MAX_FACTS = 2000
MAX_BYTES = 8 << 20


class RecentFacts:
    """The last committed facts in the order in which they were read; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: OrderedDict[Position, Record] = OrderedDict()
        self._bytes = 0

    def add(self, topics: Mapping[str, Topic], records: Sequence[Record]) -> None:
        """Store the facts among new records.  topics: by full name."""
        with self._lock:
            for record in records[-MAX_FACTS:]:
                if topics[record.topic].kind is TopicKind.FACT:
                    self._add(record)
            while len(self._facts) > MAX_FACTS or self._bytes > MAX_BYTES:
                self._bytes -= _size(self._facts.popitem(last=False)[1])

    def _add(self, record: Record) -> None:
        position = Position(record.topic, record.partition, record.offset)
        if position not in self._facts:  # a reader that failed reads some again
            self._facts[position] = record
            self._bytes += _size(record)

    def find(self, position: Position) -> Record | None:
        """Return the fact at a position, None if it is not among the last."""
        with self._lock:
            return self._facts.get(position)

    def clear(self) -> None:
        with self._lock:
            self._facts.clear()
            self._bytes = 0


def _size(record: Record) -> int:
    return len(record.value or b"")
