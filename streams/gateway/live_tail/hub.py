"""The live tail of `rtes.events` for many clients at once (SAOP guide, 6.3).

One thread reads the end of the topic; each record is decoded once and its bytes are shared.  A
client that starts earlier reads the records before the end with readers of its own; a few clients
read at the same time.  A client joins the others when it is near the end: from then on it buffers
the hub's events, reads up to the hub's position at that time, and then sends the buffered events.
So no event is repeated or left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from streams.engine.log import Log
from streams.engine.records import Record
from streams.errors import HeadraceError, InfrastructureError, TopicsMismatch
from streams.gateway.live_tail.catch_up import CatchUp
from streams.gateway.live_tail.events import TOPIC, Frame
from streams.gateway.live_tail.ring_buffer import MAX_EVENTS, RingBuffer
from streams.gateway.live_tail.start_positions import StartPositions, TailRequest
from streams.gateway.live_tail.stream import Stream
from streams.gateway.live_tail.subscriber import Bounds, Subscriber, SubscriberIndex
from streams.gateway.live_tail.tail_reader import Batch, TailReader, TopicRange, describe_topic
from streams.log.cursors import EARLIEST, offsets_cursor
from streams.log.tail_positions import OffsetPosition
from streams.settings import Settings
from topology.topics import full_name

T = TypeVar("T")
log = logging.getLogger("streams.gateway.sse.hub")

MAX_CLIENTS = 2000
PATIENCE_S = 10.0
"""How long a client may read nothing, and how long it waits for a hub that is not ready."""
READERS = 4
"""Clients that read the records before the end at the same time."""
NEAR = 500
"""Distance to the end, in offsets, at which a client joins the others."""
_WAKE_S = 0.0001
_MAX_PAUSE_S = 0.02
_TOPIC_CHECK_S = 30.0
_TURN_S = 2.0
_STALL_S = 0.2


class TailBusy(InfrastructureError):
    """An error for a client that cannot be served now."""

    default_advice = "Try again in a moment, with the same cursor."


class TailHub:
    """The hub; `drain`, `feed` and `pause_s` may be called from any thread, the others on the
    loop.
    """

    def __init__(
        self,
        log: Log,
        settings: Settings,
        *,
        max_clients: int = MAX_CLIENTS,
        patience_s: float = PATIENCE_S,
        max_recent: int = MAX_EVENTS,
    ) -> None:
        self.patience_s = patience_s
        self.heartbeat_s = float(settings.rtes_heartbeat_s)
        self._log = log
        self._topic = full_name(TOPIC, settings.prefix)
        self._bounds = Bounds(settings.rtes_tail_records, settings.rtes_tail_bytes)
        self._max_clients = max_clients
        self._max_recent = max_recent
        self._streams: set[Stream] = set()
        self._subscribers = SubscriberIndex()
        self._opening = 0
        self._topic_range: TopicRange | None = None
        self._start_positions: StartPositions | None = None
        self._ring = RingBuffer(max_recent, {})
        self._positions: dict[int, int] = {}
        self._cursor = ""
        self._draining = False
        self._tail_reader: TailReader | None = None

    @property
    def clients(self) -> int:
        """Return the number of clients."""
        return len(self._streams)

    def start(self) -> None:
        """Start to read at the end of the topic, without waiting for it."""
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._readers = ThreadPoolExecutor(READERS, "tail-reader")
        self._turns = asyncio.Semaphore(READERS)
        self._indexer = ThreadPoolExecutor(1, "tail-index")
        self._draining = False
        self._tail_reader = TailReader(self._log, self._topic, self, self._max_recent)
        self._tail_reader.start()
        self._watch = self._loop.create_task(self._watch_topic(self._tail_reader))

    def drain(self) -> None:
        """End every stream with the client's cursor and refuse new clients.

        May be called from any thread and from a signal handler: a server that stops waits for its
        open connections, so the streams must end first.  `stop` calls it too.
        """
        self._draining = True
        if self._tail_reader is not None:
            self._loop.call_soon_threadsafe(self._end_all)

    async def stop(self, deadline_s: float = 5.0) -> None:
        """Drain, wait up to `deadline_s` for the clients to leave, and stop reading."""
        self.drain()
        tail_reader, self._tail_reader = self._tail_reader, None
        if tail_reader is None:
            return
        self._watch.cancel()
        deadline = self._loop.time() + deadline_s
        while self._streams and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        tail_reader.stop()
        await asyncio.to_thread(tail_reader.join, deadline_s)
        for pool in (self._readers, self._indexer):
            pool.shutdown(wait=False, cancel_futures=True)

    async def open(self, request: TailRequest) -> Stream:
        """Open a stream that starts at the requested position; the caller closes it.

        Raises CursorInvalid, CursorExpired, CursorAhead, TailBusy, BrokerUnavailable.
        """
        self._check_open()
        if len(self._streams) + self._opening >= self._max_clients:
            raise TailBusy(f"{self._max_clients} clients are served already")
        self._opening += 1
        try:
            catch_up = await self._find_start(request)
        finally:
            self._opening -= 1
        self._check_open()
        subscriber = Subscriber(request.filters, catch_up.log_position, self._bounds)
        stream = Stream(self, subscriber)
        self._streams.add(stream)
        if catch_up.distance(self._positions) or self._is_ahead(catch_up):
            stream.catch_up_task = self._loop.create_task(self._follow(subscriber, catch_up))
        else:
            self._subscribers.join(subscriber)
            subscriber.release(self._cursor, True)
        return stream

    def _check_open(self) -> None:
        if self._draining or self._tail_reader is None:
            raise TailBusy("the gateway is stopping")

    async def _find_start(self, request: TailRequest) -> CatchUp:
        start_positions = await self._wait_ready()
        session_id = request.filters.session_id
        if session_id is not None:
            find = partial(start_positions.start_in_session, request, session_id)
            catch_up = await self._run_in(self._indexer, find)
            catch_up.start_at_known_offset(self._ring.find_offset)
            return catch_up
        if request.cursor is not None or request.start == EARLIEST:
            return await self._run_in(
                self._readers, partial(start_positions.start_by_offsets, request)
            )
        return start_positions.start_at(request.filters, self._positions)

    async def _wait_ready(self) -> StartPositions:
        try:
            async with asyncio.timeout(self.patience_s):
                await self._ready.wait()
        except TimeoutError:
            raise TailBusy(f"{self._topic} cannot be read now") from None
        assert self._start_positions is not None
        return self._start_positions

    async def _follow(self, subscriber: Subscriber, catch_up: CatchUp) -> None:
        """Read to the end of the log for the subscriber, then join it to the other subscribers."""
        try:
            while self._is_ahead(catch_up):
                await asyncio.sleep(_MAX_PAUSE_S)
            while not self._is_near(catch_up) and subscriber.end is None:
                await self._read_to(dict(self._positions), subscriber, catch_up)
            if subscriber.end is None:
                await self._join(subscriber, catch_up)
        except HeadraceError:
            self._end(subscriber)  # the client reconnects and gets the error then
        except Exception:
            log.exception("a client of the tail is not served on")
            self._end(subscriber)

    def _is_near(self, catch_up: CatchUp) -> bool:
        near = catch_up.distance(self._positions) <= NEAR
        return near or self._ring.covers(catch_up.positions)

    async def _join(self, subscriber: Subscriber, catch_up: CatchUp) -> None:
        target, cursor = dict(self._positions), self._cursor
        subscriber.hold()
        self._subscribers.join(subscriber)
        if self._ring.covers(catch_up.positions):
            frames = deque(catch_up.filter_events(self._ring.read_from(catch_up.positions)))
            await subscriber.fill(frames)
            subscriber.advance_to(catch_up.log_position.cursor())
        else:
            await self._read_to(target, subscriber, catch_up)
        if subscriber.end is None:
            subscriber.release(self._cursor, cursor == self._cursor)

    async def _read_to(
        self, target: dict[int, int], subscriber: Subscriber, catch_up: CatchUp
    ) -> None:
        while catch_up.distance(target) and subscriber.end is None:
            async with self._turns:
                frames = await self._read_turn(target, subscriber, catch_up)
            await subscriber.fill(frames)
            subscriber.advance_to(catch_up.log_position.cursor())

    async def _read_turn(
        self, target: dict[int, int], subscriber: Subscriber, catch_up: CatchUp
    ) -> deque[Frame]:
        """Read with one reader until the time is up or the client does not keep up.

        Return the frames that the client's buffer has no room for.
        """
        deadline = self._loop.time() + _TURN_S
        frames: deque[Frame] = deque()
        try:
            while catch_up.distance(target) and not frames and self._loop.time() < deadline:
                frames.extend(await self._run_in(self._readers, partial(catch_up.page, target)))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_STALL_S):
                        await subscriber.fill(frames)
        finally:
            with contextlib.suppress(RuntimeError):  # the hub has stopped
                self._readers.submit(catch_up.close)
        return frames

    def _is_ahead(self, catch_up: CatchUp) -> bool:
        """Return whether the client's offsets are beyond the hub's; sessions need no check."""
        by_offsets = isinstance(catch_up.log_position, OffsetPosition)
        return by_offsets and catch_up.distance(self._positions, ahead=True) > 0

    def close(self, stream: Stream) -> None:
        """Close the stream of a client that is gone."""
        self._end(stream.subscriber)
        self._streams.discard(stream)
        if stream.catch_up_task is not None:
            stream.catch_up_task.cancel()

    def _end(self, subscriber: Subscriber) -> None:
        subscriber.cursor = self.cursor_of(subscriber)
        subscriber.finish("ended")
        self._subscribers.leave(subscriber)

    def _end_all(self) -> None:
        for stream in self._streams:
            self._end(stream.subscriber)

    def cursor_of(self, subscriber: Subscriber) -> str:
        """Return the subscriber's cursor, after the records filtered since its last output."""
        shared = subscriber.live and not subscriber.by_sequence and subscriber.end is None
        return self._cursor if shared else subscriber.cursor

    def begin(self, topic: TopicRange, earlier: Mapping[int, int], batch: Batch) -> None:
        """Set the ring buffer and positions: the tail reader has read from `earlier` to the end."""
        if self._topic_range != topic:
            self._start_positions = StartPositions(self._log, topic.name, topic.partitions)
        self._topic_range = topic
        self._ring = RingBuffer(self._max_recent, earlier)
        self._ring.add(batch.events)
        self._positions = batch.positions
        self._cursor = offsets_cursor(batch.positions)
        self._ready.set()

    def deliver(self, batch: Batch) -> None:
        """Offer a batch of the tail reader to the subscribers."""
        self._subscribers.offer(batch.events)
        self._ring.add(batch.events)
        self._positions = batch.positions
        if batch.events:
            self._cursor = batch.events[-1].cursor

    def lose(self) -> None:
        """End all streams, since the tail reader failed; it calls `begin` when it reads again."""
        self._ready.clear()
        self._end_all()

    def pause_s(self) -> float:
        """Return the pause between two batches; it grows with the clients that each may wake."""
        return min(_MAX_PAUSE_S, len(self._streams) * _WAKE_S)

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None:
        """Add records of a partition to the session index; called in the tail reader's thread."""
        if self._start_positions is not None:
            self._start_positions.feed(number, records, begin, end)

    async def _watch_topic(self, tail_reader: TailReader) -> None:
        """Reopen the tail reader when the topic was deleted and created again.

        Reading does not show that, and asking is expensive: see `Log.topic_ids`.
        """
        while True:
            await asyncio.sleep(_TOPIC_CHECK_S)
            current: TopicRange | None = None
            try:
                current = await self._run_in(
                    self._readers, partial(describe_topic, self._log, self._topic)
                )
            except TopicsMismatch:
                pass
            except InfrastructureError:
                continue
            if self._ready.is_set() and current != self._topic_range:
                tail_reader.reopen()

    async def _run_in(self, pool: Executor, call: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(pool, call)
