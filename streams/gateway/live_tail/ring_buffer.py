"""The last records of the topic in memory: a client that reconnects soon needs no reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from streams.gateway.live_tail.events import Event

MAX_EVENTS = 1000
MAX_BYTES = 8 << 20


class RingBuffer:
    """The last events.  positions: the offset of the first stored record, by partition."""

    def __init__(self, max_events: int, positions: Mapping[int, int]) -> None:
        self._max_events = max_events
        self._begins = dict(positions)
        self._events: deque[Event] = deque()
        self._size = 0

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events.append(event)
            self._size += len(event.record.value or b"")
        while len(self._events) > self._max_events or self._size > MAX_BYTES:
            record = self._events.popleft().record
            self._begins[record.partition] = record.offset + 1
            self._size -= len(record.value or b"")

    def covers(self, positions: Mapping[int, int]) -> bool:
        """Return whether all records from these positions on are stored."""
        return all(at >= self._begins[number] for number, at in positions.items())

    def find_offset(self, key: bytes, sequence: int) -> int | None:
        """Return the offset of a session's record, None if it is not stored."""
        for event in self._events:
            if event.record.key == key and event.value["sequence"] == sequence:
                return event.record.offset
        return None

    def read_from(self, positions: Mapping[int, int]) -> list[Event]:
        """Return the stored records from these positions on, of these partitions only."""
        return [
            event
            for event in self._events
            if event.record.offset >= positions.get(event.record.partition, 1 << 63)
        ]
