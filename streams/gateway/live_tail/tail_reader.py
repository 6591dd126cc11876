"""The thread that reads the end of `rtes.events` once for all clients that have reached it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from streams.engine.log import Log, Pace, Reader
from streams.engine.records import Record, TopicPartition
from streams.errors import TopicsMismatch
from streams.gateway.live_tail.events import Event
from streams.log.cursors import offsets_cursor

logger = logging.getLogger("streams.gateway.sse.head")

_POLL_S = 0.1
_IDLE_S = 0.005
_POLL_RECORDS = 250
_BATCH_BYTES = 1 << 18
"""Bytes of a batch, after which clients get the chance to read."""
_RETRY_S = 0.5


class Batch(NamedTuple):
    """Records read together.  positions: the next offset of each partition after the batch."""

    events: list[Event]
    positions: dict[int, int]


class TopicRange(NamedTuple):
    """A topic and its partitions.  topic_id: differs once the topic was created again."""

    name: str
    partitions: int
    topic_id: str


def describe_topic(log: Log, name: str) -> TopicRange:
    """Return the topic as it is now.  Raises TopicsMismatch if it is missing, BrokerUnavailable."""
    (topic_id,) = log.topic_ids([name]).values()
    topic = log.topics().get(name)
    if topic is None:
        raise TopicsMismatch(f"topic {name} is missing")
    return TopicRange(name, topic.partitions, topic_id)


class Listener(Protocol):
    """The receiver of the batches.

    `begin`, `deliver` and `lose` are called on the event loop, in order; the others in the thread.
    """

    def begin(self, topic: TopicRange, earlier: Mapping[int, int], batch: Batch) -> None: ...

    def deliver(self, batch: Batch) -> None: ...

    def lose(self) -> None: ...

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None: ...

    def pause_s(self) -> float: ...


class TailReader:
    """The reader and its thread.

    topic: the full name.  earlier: how many offsets before the end it starts, over all partitions.
    """

    def __init__(self, log: Log, topic: str, listener: Listener, earlier: int) -> None:
        self._earlier = earlier
        self._log = log
        self._topic = topic
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._reopen = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tail-head", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def reopen(self) -> None:
        """Open a new reader, because the topic was created again."""
        self._reopen.set()

    def stop(self) -> None:
        """Stop the thread without waiting for it."""
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        logged = ""
        while not self._stopping.is_set():
            self._reopen.clear()
            try:
                self._follow()
            except (
                Exception
            ) as exc:  # after any error the streams must end, and reading start again
                if str(exc) != logged:
                    logger.warning("the live tail waits: %r", exc)
                logged = str(exc)
            self._call_on_loop(self._listener.lose)
            self._stopping.wait(_RETRY_S)

    def _follow(self) -> None:
        topic = describe_topic(self._log, self._topic)
        tps = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        starts, ends = self._log.starts(tps), self._log.ends(tps)
        share = self._earlier // len(tps)
        earlier = {tp: max(starts[tp], ends[tp] - share) for tp in tps}
        with self._log.reader(earlier, Pace.LIVE) as reader:
            begin = {tp.partition: at for tp, at in earlier.items()}
            batch = self._read_to(reader, {tp.partition: end for tp, end in ends.items()}, begin)
            self._call_on_loop(self._listener.begin, topic, begin, batch)
            positions = dict(batch.positions)
            while not self._stopping.is_set() and not self._reopen.is_set():
                self._read_batch(reader, positions)

    def _read_to(self, reader: Reader, ends: Mapping[int, int], begin: Mapping[int, int]) -> Batch:
        """Read the records before the end offsets, for clients that reconnect."""
        events: list[Event] = []
        positions = dict(begin)
        while any(positions[number] < end for number, end in ends.items()):
            if self._stopping.is_set() or self._reopen.is_set():
                break
            for record in reader.poll(_POLL_S, _POLL_RECORDS):
                positions[record.partition] = record.offset + 1
                events.append(Event(record, offsets_cursor(positions)))
            for number in positions:
                positions[number] = reader.position(TopicPartition(self._topic, number))
        return Batch(events, positions)

    def _read_batch(self, reader: Reader, positions: dict[int, int]) -> None:
        begins = dict(positions)
        groups: dict[int, list[Record]] = {}
        for records in _split_records(reader.poll(_POLL_S, _POLL_RECORDS)):
            events = []
            for record in records:
                positions[record.partition] = record.offset + 1
                events.append(Event(record, offsets_cursor(positions)))
                groups.setdefault(record.partition, []).append(record)
            self._deliver(Batch(events, dict(positions)))
        handed = dict(positions)
        for number, begin in begins.items():
            end = positions[number] = reader.position(TopicPartition(self._topic, number))
            if end > begin:
                self._listener.feed(number, groups.get(number, []), begin, end)
        if positions != handed:  # past offsets without a record
            self._deliver(Batch([], dict(positions)))
        if positions == begins:
            self._stopping.wait(_IDLE_S)
        elif groups:
            self._stopping.wait(self._listener.pause_s())

    def _deliver(self, batch: Batch) -> None:
        """Deliver a batch and wait a turn of the loop, so that a busy loop gets larger batches."""
        delivered = threading.Event()

        def deliver() -> None:
            try:
                self._listener.deliver(batch)
            finally:
                self._loop.call_soon(delivered.set)

        if self._call_on_loop(deliver):
            while not delivered.wait(_POLL_S) and not self._stopping.is_set():
                pass

    def _call_on_loop(self, function: Callable[..., object], *args: object) -> bool:
        """Call the function on the event loop; return False if the loop is closed."""
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            self._stopping.set()
            return False
        return True


def _split_records(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Split records so that one part stays far below the limits of a client that reads at once."""
    part: list[Record] = []
    size = 0
    for record in records:
        part.append(record)
        size += len(record.value or b"")
        if size >= _BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
