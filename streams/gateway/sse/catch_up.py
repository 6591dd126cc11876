"""What lies between a client's place and the end of the log, a page at a time, off the loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from streams.engine.log import Log, Reader
from streams.engine.records import Record, TopicPartition
from streams.gateway.sse.events import Event, Frame, frame
from streams.log.filters import Filters
from streams.log.tail_positions import LogPosition, SequencePosition

PAGE_RECORDS = 1000
PAGE_BYTES = 1 << 22
PAGE_S = 1.0
_AT_ONCE = 500


class CatchUp:
    """positions: where reading goes on, by partition; all others are not looked at.

    `page` and `close` run in threads, one at a time; everything else while none runs.
    """

    def __init__(
        self,
        log: Log,
        topic: str,
        filters: Filters,
        place: LogPosition,
        positions: Mapping[int, int],
    ) -> None:
        self._log = log
        self._topic = topic
        self._filters = filters
        self._lock = threading.Lock()
        self._reader: Reader | None = None
        self._read_from: set[int] = set()
        self.place = place
        self.positions = dict(positions)

    def distance(self, target: Mapping[int, int], ahead: bool = False) -> int:
        """How many offsets lie before the target; with ahead, how many were read beyond it."""
        sign = -1 if ahead else 1
        return sum(max(0, sign * (target[n] - at)) for n, at in self.positions.items())

    def begin_at(self, offset_of: Callable[[bytes, int], int | None]) -> None:
        """Of a session: at its next record, if that is known better by key and sequence."""
        if isinstance(self.place, SequencePosition):
            key = self.place.session_id.encode()
            if (offset := offset_of(key, self.place.sequence + 1)) is not None:
                self.positions = dict.fromkeys(self.positions, offset)

    def page(self, target: Mapping[int, int]) -> list[Frame]:
        """Frames of what lies before the target: as much as fits a page, or was there in time.

        Keeps a reader until `close`.  Raises BrokerUnavailable when it cannot go on, as after a
        deletion.
        """
        frames: list[Frame] = []
        size, until = 0, time.monotonic() + PAGE_S
        with self._lock:
            while len(frames) < PAGE_RECORDS and size < PAGE_BYTES and time.monotonic() < until:
                found = self.pass_over([Event(record) for record in self._read(target)])
                frames += found
                size += sum(len(text) for _, text in found)
                if not self.distance(target):
                    break
        return frames

    def _read(self, target: Mapping[int, int]) -> list[Record]:
        """Some records before the target; those beyond it are left to be read again.

        Only partitions that are short of it are read: others would fill every poll as they grow.
        """
        short = {number for number, at in self.positions.items() if at < target[number]}
        if self._reader is None or not short <= self._read_from:
            self._drop()
            self._read_from = short
            tps = {TopicPartition(self._topic, n): self.positions[n] for n in short}
            self._reader = self._log.reader(tps)
        records = self._reader.poll(0.05, _AT_ONCE)
        wanted = [record for record in records if record.offset < target[record.partition]]
        for number in self._read_from:
            now = self._reader.position(TopicPartition(self._topic, number))
            self.positions[number] = max(self.positions[number], min(now, target[number]))
        if len(wanted) < len(records):
            self._drop()
        return wanted

    def close(self) -> None:
        """Give the reader back; `page` opens another."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def pass_over(self, events: Iterable[Event]) -> list[Frame]:
        """Frames of those that are wanted."""
        frames = []
        for event in events:
            record = event.record
            if not self.place.may_hold(record.key):
                continue
            if not self.place.see(record.partition, record.offset, event.value):
                continue
            if self._filters.fit(record, event.value):
                cursor = self.place.cursor()
                frames.append(Frame(cursor, frame(cursor, event.data)))
        return frames
