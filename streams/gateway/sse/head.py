"""The one reader at the end of `rtes.events`, for all clients that have come so far: a thread."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from streams.engine.log import Log, Pace, Reader
from streams.engine.records import Record, TopicPartition
from streams.errors import TopicsMismatch
from streams.gateway.sse.events import Event
from streams.log.cursors import offsets_cursor

logger = logging.getLogger(__name__)

_POLL_S = 0.1
_IDLE_S = 0.005
_AT_ONCE = 250
_AT_ONCE_BYTES = 1 << 18
"""What lies between two chances for the clients to take what they were given."""
_RETRY_S = 0.5


class Batch(NamedTuple):
    """positions: the next offset of each partition, behind the batch."""

    events: list[Event]
    positions: dict[int, int]


class Followed(NamedTuple):
    """A topic as it is now.  topic_id: another one once it was created anew."""

    name: str
    partitions: int
    topic_id: str


def followed(log: Log, name: str) -> Followed:
    """Raises TopicsMismatch when it is missing, BrokerUnavailable."""
    (topic_id,) = log.topic_ids([name]).values()
    topic = log.topics().get(name)
    if topic is None:
        raise TopicsMismatch(f"topic {name} is missing")
    return Followed(name, topic.partitions, topic_id)


class Listener(Protocol):
    """begin, deliver and lose are called on the event loop, in order; the others in the thread."""

    def begin(self, topic: Followed, earlier: Mapping[int, int], batch: Batch) -> None: ...

    def deliver(self, batch: Batch) -> None: ...

    def lose(self) -> None: ...

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None: ...

    def pause_s(self) -> float: ...


class Head:
    """topic: full name.  earlier: offsets before the end where reading begins, in all."""

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
        """The topic is another one now."""
        self._reopen.set()

    def stop(self) -> None:
        """The thread ends soon."""
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        said = ""
        while not self._stopping.is_set():
            self._reopen.clear()
            try:
                self._follow()
            except Exception as exc:  # whatever it is, the clients must be told, and read on
                if str(exc) != said:
                    logger.warning("the live tail waits: %r", exc)
                said = str(exc)
            self._call(self._listener.lose)
            self._stopping.wait(_RETRY_S)

    def _follow(self) -> None:
        topic = followed(self._log, self._topic)
        tps = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        starts, ends = self._log.starts(tps), self._log.ends(tps)
        share = self._earlier // len(tps)
        earlier = {tp: max(starts[tp], ends[tp] - share) for tp in tps}
        with self._log.reader(earlier, Pace.LIVE) as reader:
            begin = {tp.partition: at for tp, at in earlier.items()}
            batch = self._read_to(reader, {tp.partition: end for tp, end in ends.items()}, begin)
            self._call(self._listener.begin, topic, begin, batch)
            positions = dict(batch.positions)
            while not self._stopping.is_set() and not self._reopen.is_set():
                self._step(reader, positions)

    def _read_to(self, reader: Reader, ends: Mapping[int, int], begin: Mapping[int, int]) -> Batch:
        """What is there already, for clients that come back."""
        events: list[Event] = []
        positions = dict(begin)
        while any(positions[number] < end for number, end in ends.items()):
            if self._stopping.is_set() or self._reopen.is_set():
                break
            for record in reader.poll(_POLL_S, _AT_ONCE):
                positions[record.partition] = record.offset + 1
                events.append(Event(record, offsets_cursor(positions)))
            for number in positions:
                positions[number] = reader.position(TopicPartition(self._topic, number))
        return Batch(events, positions)

    def _step(self, reader: Reader, positions: dict[int, int]) -> None:
        begins = dict(positions)
        groups: dict[int, list[Record]] = {}
        for records in _portions(reader.poll(_POLL_S, _AT_ONCE)):
            events = []
            for record in records:
                positions[record.partition] = record.offset + 1
                events.append(Event(record, offsets_cursor(positions)))
                groups.setdefault(record.partition, []).append(record)
            self._hand_over(Batch(events, dict(positions)))
        handed = dict(positions)
        for number, begin in begins.items():
            end = positions[number] = reader.position(TopicPartition(self._topic, number))
            if end > begin:
                self._listener.feed(number, groups.get(number, []), begin, end)
        if positions != handed:  # past what is no record
            self._hand_over(Batch([], dict(positions)))
        if positions == begins:
            self._stopping.wait(_IDLE_S)
        elif groups:
            self._stopping.wait(self._listener.pause_s())

    def _hand_over(self, batch: Batch) -> None:
        """Returns when the loop has gone round once, so that a busy loop gets larger batches."""
        taken = threading.Event()

        def deliver() -> None:
            try:
                self._listener.deliver(batch)
            finally:
                self._loop.call_soon(taken.set)

        if self._call(deliver):
            while not taken.wait(_POLL_S) and not self._stopping.is_set():
                pass

    def _call(self, function: Callable[..., object], *args: object) -> bool:
        """On the loop; False when that is closed."""
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            self._stopping.set()
            return False
        return True


def _portions(records: Sequence[Record]) -> Iterator[list[Record]]:
    """So large that a client which takes them at once is far from its bounds."""
    portion: list[Record] = []
    size = 0
    for record in records:
        portion.append(record)
        size += len(record.value or b"")
        if size >= _AT_ONCE_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
