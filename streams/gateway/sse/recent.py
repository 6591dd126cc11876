"""The last records of the topic, in memory: who comes back soon needs no reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from streams.gateway.sse.events import Event

MOST_EVENTS = 1000
MOST_BYTES = 8 << 20


class Recent:
    """most: events.  positions: where what is kept begins, by partition."""

    def __init__(self, most: int, positions: Mapping[int, int]) -> None:
        self._most = most
        self._begins = dict(positions)
        self._events: deque[Event] = deque()
        self._size = 0

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events.append(event)
            self._size += len(event.record.value or b"")
        while len(self._events) > self._most or self._size > MOST_BYTES:
            record = self._events.popleft().record
            self._begins[record.partition] = record.offset + 1
            self._size -= len(record.value or b"")

    def reaches(self, positions: Mapping[int, int]) -> bool:
        """Whether all records from there on are kept."""
        return all(at >= self._begins[number] for number, at in positions.items())

    def offset_of(self, key: bytes, sequence: int) -> int | None:
        """Where that record of a session lies, if it is kept."""
        for event in self._events:
            if event.record.key == key and event.value["sequence"] == sequence:
                return event.record.offset
        return None

    def after(self, positions: Mapping[int, int]) -> list[Event]:
        """The records from there on, of the partitions named."""
        return [
            event
            for event in self._events
            if event.record.offset >= positions.get(event.record.partition, 1 << 63)
        ]
