"""The ends of topics, each followed by one reader for all streams of events."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile

from streams.doors.mcp.shared_events import SharedEvents
from streams.engine.log import Log, Pace
from streams.engine.records import Record, TopicPartition
from streams.errors import HeadraceError

READERS = 4
"""Streams that read the records before the end at the same time."""
MOST_RECORDS = 10_000
MOST_BYTES = 16 << 20
_POLL_S = 0.25
_RETRY_S = 1.0
_RECORDS = 2000
_VERSIONS = itertools.count()
Positions = dict[TopicPartition, int]
Wake = Callable[[], None]
"""Tells that there is something new."""
Newest = tuple[list[Record], Positions]
"""The records from certain positions on, and the offsets behind them."""


class Tail:
    """The last records of one topic.

    wake: called at each change, in the thread of the reader.
    has_failed: the log could not be read lately.
    version: another one after each change, which no other tail has or had.
    """

    def __init__(self, log: Log, topic: str, wake: Wake) -> None:
        self._log, self._topic, self._wake = log, topic, wake
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._records: dict[TopicPartition, deque[Record]] = {}
        self._begins: Positions = {}
        self._ends: Positions = {}
        self._bytes = 0
        self.has_failed = False
        self.version = next(_VERSIONS)
        self._thread = threading.Thread(target=self._run, name=f"mcp {topic}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end; it may take a moment."""
        self._stopped.set()

    def newest(self, positions: Mapping[TopicPartition, int]) -> Newest | None:
        """Return the records from these positions on, None if it does not have all of them."""
        with self._lock:
            mine = {tp: at for tp, at in positions.items() if tp.topic == self._topic}
            if any(tp not in self._begins or at < self._begins[tp] for tp, at in mine.items()):
                return None
            records: list[Record] = []
            for tp, at in mine.items():
                records += _records_from(self._records[tp], at)
            return records, {tp: max(at, self._ends[tp]) for tp, at in mine.items()}

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except HeadraceError:
                self.has_failed = True
                self._wake()
                self._stopped.wait(_RETRY_S)

    def _follow(self) -> None:
        """Read from the end on until stopped.  Raises BrokerUnavailable."""
        info = self._log.topics().get(self._topic)
        tps = [TopicPartition(self._topic, n) for n in range(info.partitions if info else 0)]
        ends = self._log.ends(tps)
        with self._lock:
            self._records, self._bytes = {tp: deque() for tp in tps}, 0
            self._begins, self._ends = dict(ends), dict(ends)
            self.version = next(_VERSIONS)
        self.has_failed = False
        self._wake()
        with self._log.reader(ends, Pace.LIVE) as reader:
            while not self._stopped.is_set():
                records = reader.poll(_POLL_S, _RECORDS)
                if self._store(records, {tp: reader.position(tp) for tp in tps}):
                    self._wake()

    def _store(self, records: Sequence[Record], ends: Positions) -> bool:
        """Take what was read, and return whether it was anything."""
        with self._lock:
            is_new = ends != self._ends
            self._ends = ends
            for record in records:
                self._records[TopicPartition(record.topic, record.partition)].append(record)
                self._bytes += len(record.value or b"")
            while self._bytes > MOST_BYTES or sum(map(len, self._records.values())) > MOST_RECORDS:
                self._drop_one()
            if is_new:
                self.version = next(_VERSIONS)
        return is_new

    def _drop_one(self) -> None:
        """Drop the first record of the fullest partition."""
        tp = max(self._records, key=lambda each: len(self._records[each]))
        record = self._records[tp].popleft()
        self._bytes -= len(record.value or b"")
        self._begins[tp] = record.offset + 1


def _records_from(queue: deque[Record], offset: int) -> list[Record]:
    """Return the records from an offset on, which are at the end of the queue."""
    last = list(takewhile(lambda record: record.offset >= offset, reversed(queue)))
    return last[::-1]


class Tails:
    """The tails of the topics that streams follow now; used on the event loop.

    events: those of the records that they have.
    streams: how many are open.
    catching_up: a place for each stream that reads the records before the end.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._tails: dict[str, Tail] = {}
        self._wakes: dict[str, list[Wake]] = {}
        self.events = SharedEvents()
        self.streams = 0
        self.catching_up = asyncio.Semaphore(READERS)

    @contextmanager
    def follow(self, topics: Collection[str], wake: Wake) -> Iterator[list[Tail]]:
        """Yield the tails of topics; `wake` is called on the event loop at each change of one."""
        tails = [self._tail(name) for name in topics]
        for name in topics:
            self._wakes[name].append(wake)
        try:
            yield tails
        finally:
            for name in topics:
                self._wakes[name].remove(wake)
                if not self._wakes[name]:
                    del self._wakes[name]
                    self._tails.pop(name).stop()

    @contextmanager
    def count_stream(self) -> Iterator[None]:
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def _tail(self, topic: str) -> Tail:
        if topic not in self._tails:
            loop = asyncio.get_running_loop()

            def wake_soon() -> None:
                with suppress(RuntimeError):  # the loop has ended, and its streams with it
                    loop.call_soon_threadsafe(self._wake, topic)

            self._wakes[topic] = []
            self._tails[topic] = Tail(self._log, topic, wake_soon)
        return self._tails[topic]

    def _wake(self, topic: str) -> None:
        for wake in self._wakes.get(topic, ()):
            wake()
