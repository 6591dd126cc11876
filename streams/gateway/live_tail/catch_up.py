"""The reader of the records between a client's position and the end of the log, page by page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from streams.engine.log import Log, Reader
from streams.engine.records import Record, TopicPartition
from streams.gateway.live_tail.events import Event, Frame, frame
from streams.log.filters import Filters
from streams.log.tail_positions import LogPosition, SequencePosition

PAGE_RECORDS = 1000
PAGE_BYTES = 1 << 22
PAGE_S = 1.0
_POLL_RECORDS = 500


class CatchUp:
    """A client's progress towards the end of the log.

    positions: the next offset to read of each partition; other partitions are not read.
    `page` and `close` run in threads, one at a time; all other methods only while neither runs.
    """

    def __init__(
        self,
        log: Log,
        topic: str,
        filters: Filters,
        log_position: LogPosition,
        positions: Mapping[int, int],
    ) -> None:
        self._log = log
        self._topic = topic
        self._filters = filters
        self._lock = threading.Lock()
        self._reader: Reader | None = None
        self._read_from: set[int] = set()
        self.log_position = log_position
        self.positions = dict(positions)

    def distance(self, target: Mapping[int, int], ahead: bool = False) -> int:
        """Return the number of offsets before the target; with `ahead`, the number beyond it."""
        sign = -1 if ahead else 1
        return sum(max(0, sign * (target[n] - at)) for n, at in self.positions.items())

    def start_at_known_offset(self, find_offset: Callable[[bytes, int], int | None]) -> None:
        """Start a session at its next record, if `find_offset` knows where that is."""
        if isinstance(self.log_position, SequencePosition):
            key = self.log_position.session_id.encode()
            if (offset := find_offset(key, self.log_position.sequence + 1)) is not None:
                self.positions = dict.fromkeys(self.positions, offset)

    def page(self, target: Mapping[int, int]) -> list[Frame]:
        """Return frames of records before the target: one page, or what could be read in PAGE_S.

        Keeps a reader open until `close`.  Raises BrokerUnavailable if it cannot read on, for
        example after a deletion.
        """
        frames: list[Frame] = []
        size, until = 0, time.monotonic() + PAGE_S
        with self._lock:
            while len(frames) < PAGE_RECORDS and size < PAGE_BYTES and time.monotonic() < until:
                read = self.filter_events([Event(record) for record in self._read(target)])
                frames += read
                size += sum(len(text) for _, text in read)
                if not self.distance(target):
                    break
        return frames

    def _read(self, target: Mapping[int, int]) -> list[Record]:
        """Read some records before the target; leave those beyond it to be read again.

        Only partitions that have not reached it are read: others would fill every poll as they
        grow.
        """
        short = {number for number, at in self.positions.items() if at < target[number]}
        if self._reader is None or not short <= self._read_from:
            self._close_reader()
            self._read_from = short
            tps = {TopicPartition(self._topic, n): self.positions[n] for n in short}
            self._reader = self._log.reader(tps)
        records = self._reader.poll(0.05, _POLL_RECORDS)
        before_target = [record for record in records if record.offset < target[record.partition]]
        for number in self._read_from:
            now = self._reader.position(TopicPartition(self._topic, number))
            self.positions[number] = max(self.positions[number], min(now, target[number]))
        if len(before_target) < len(records):
            self._close_reader()
        return before_target

    def close(self) -> None:
        """Close the reader; `page` opens another."""
        with self._lock:
            self._close_reader()

    def _close_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def filter_events(self, events: Iterable[Event]) -> list[Frame]:
        """Return frames of the events that the client has not seen and that fit its filters."""
        frames = []
        for event in events:
            record = event.record
            if not self.log_position.may_hold(record.key):
                continue
            if not self.log_position.see(record.partition, record.offset, event.value):
                continue
            if self._filters.fit(record, event.value):
                cursor = self.log_position.cursor()
                frames.append(Frame(cursor, frame(cursor, event.data)))
        return frames
