"""The live tail of `rtes.events` for many clients at once (saop spec 6.3).

One thread reads the end of the topic; each record is decoded once and its bytes are shared.  A
client that begins earlier reads what lies before with readers of its own, some at a time over
all clients.  It joins when it is near: from then on it holds back what the hub brings, reads up
to where the hub stood, and goes on with what it held; so nothing is repeated or left out.
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
from streams.gateway.sse.audience import Audience
from streams.gateway.sse.beginnings import Beginnings, Wanted
from streams.gateway.sse.catch_up import CatchUp
from streams.gateway.sse.events import Frame
from streams.gateway.sse.head import Batch, Followed, Head, followed
from streams.gateway.sse.recent import MOST_EVENTS, Recent
from streams.gateway.sse.stream import Stream
from streams.gateway.sse.subscriber import Bounds, Subscriber
from streams.gateway.sse.topic import TOPIC
from streams.log.cursors import EARLIEST, offsets_cursor
from streams.log.tail_positions import OffsetPosition
from streams.settings import Settings
from topology.topics import full_name

T = TypeVar("T")
log = logging.getLogger(__name__)

MOST_CLIENTS = 2000
PATIENCE_S = 10.0
"""How long a client may take nothing, and how long one waits for a hub that is not ready."""
READERS = 4
"""Clients that read what lies before the end, at the same time."""
NEAR = 500
"""Offsets before the end where a client joins."""
_WAKE_S = 0.0001
_MOST_PAUSE_S = 0.02
_LOOK_S = 30.0
_TURN_S = 2.0
_STALL_S = 0.2


class TailBusy(InfrastructureError):
    """No client is taken now."""

    default_advice = "Try again in a moment, with the same cursor."


class TailHub:
    """All of it belongs to the event loop on which `start` was called."""

    def __init__(
        self,
        log: Log,
        settings: Settings,
        *,
        most_clients: int = MOST_CLIENTS,
        patience_s: float = PATIENCE_S,
        most_recent: int = MOST_EVENTS,
    ) -> None:
        self.patience_s = patience_s
        self.heartbeat_s = float(settings.rtes_heartbeat_s)
        self._log = log
        self._topic = full_name(TOPIC, settings.prefix)
        self._bounds = Bounds(settings.rtes_tail_records, settings.rtes_tail_bytes)
        self._most_clients = most_clients
        self._most_recent = most_recent
        self._streams: set[Stream] = set()
        self._audience = Audience()
        self._opening = 0
        self._followed: Followed | None = None
        self._beginnings: Beginnings | None = None
        self._recent = Recent(most_recent, {})
        self._positions: dict[int, int] = {}
        self._cursor = ""
        self._draining = False
        self._head: Head | None = None

    @property
    def clients(self) -> int:
        """How many are served now."""
        return len(self._streams)

    def start(self) -> None:
        """Begin to read at the end of the topic; does not wait for it."""
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._readers = ThreadPoolExecutor(READERS, "tail-reader")
        self._turns = asyncio.Semaphore(READERS)
        self._indexer = ThreadPoolExecutor(1, "tail-index")
        self._draining = False
        self._head = Head(self._log, self._topic, self, self._most_recent)
        self._head.start()
        self._watch = self._loop.create_task(self._watch_topic(self._head))

    def drain(self) -> None:
        """Every client gets its cursor and its stream ends; no new ones are taken.

        May be called from any thread and from a signal handler: when a server stops, it waits for
        its open connections first.  `stop` does it too.
        """
        self._draining = True
        if self._head is not None:
            self._loop.call_soon_threadsafe(self._end_all)

    async def stop(self, deadline_s: float = 5.0) -> None:
        """Drain, wait for the clients that long, stop reading."""
        self.drain()
        head, self._head = self._head, None
        if head is None:
            return
        self._watch.cancel()
        until = self._loop.time() + deadline_s
        while self._streams and self._loop.time() < until:
            await asyncio.sleep(0.01)
        head.stop()
        await asyncio.to_thread(head.join, deadline_s)
        for pool in (self._readers, self._indexer):
            pool.shutdown(wait=False, cancel_futures=True)

    async def open(self, wanted: Wanted) -> Stream:
        """A stream that begins where it was asked to; who opens it closes it.

        Raises CursorInvalid, CursorExpired, CursorAhead, TailBusy, BrokerUnavailable.
        """
        self._check_open()
        if len(self._streams) + self._opening >= self._most_clients:
            raise TailBusy(f"{self._most_clients} clients are served already")
        self._opening += 1
        try:
            catch_up = await self._begin(wanted)
        finally:
            self._opening -= 1
        self._check_open()
        subscriber = Subscriber(wanted.filters, catch_up.place, self._bounds)
        stream = Stream(self, subscriber)
        self._streams.add(stream)
        if catch_up.distance(self._positions) or self._is_ahead(catch_up):
            stream.following = self._loop.create_task(self._follow(subscriber, catch_up))
        else:
            self._audience.join(subscriber)
            subscriber.release(self._cursor, True)
        return stream

    def _check_open(self) -> None:
        if self._draining or self._head is None:
            raise TailBusy("the gateway is stopping")

    async def _begin(self, wanted: Wanted) -> CatchUp:
        beginnings = await self._until_ready()
        session_id = wanted.filters.session_id
        if session_id is not None:
            find = partial(beginnings.of_session, wanted, session_id)
            catch_up = await self._in(self._indexer, find)
            catch_up.begin_at(self._recent.offset_of)
            return catch_up
        if wanted.cursor is not None or wanted.start == EARLIEST:
            return await self._in(self._readers, partial(beginnings.by_offsets, wanted))
        return beginnings.at(wanted.filters, self._positions)

    async def _until_ready(self) -> Beginnings:
        try:
            async with asyncio.timeout(self.patience_s):
                await self._ready.wait()
        except TimeoutError:
            raise TailBusy(f"{self._topic} cannot be read now") from None
        assert self._beginnings is not None
        return self._beginnings

    async def _follow(self, subscriber: Subscriber, catch_up: CatchUp) -> None:
        """Bring the subscriber to the end of the log, and join it to the others there."""
        try:
            while self._is_ahead(catch_up):
                await asyncio.sleep(_MOST_PAUSE_S)
            while not self._is_near(catch_up) and subscriber.end is None:
                await self._read_to(dict(self._positions), subscriber, catch_up)
            if subscriber.end is None:
                await self._come_in(subscriber, catch_up)
        except HeadraceError:
            self._end(subscriber)  # it comes again, and is told then
        except Exception:
            log.exception("a client of the tail is not served on")
            self._end(subscriber)

    def _is_near(self, catch_up: CatchUp) -> bool:
        near = catch_up.distance(self._positions) <= NEAR
        return near or self._recent.reaches(catch_up.positions)

    async def _come_in(self, subscriber: Subscriber, catch_up: CatchUp) -> None:
        target, cursor = dict(self._positions), self._cursor
        subscriber.hold()
        self._audience.join(subscriber)
        if self._recent.reaches(catch_up.positions):
            frames = deque(catch_up.pass_over(self._recent.after(catch_up.positions)))
            await subscriber.fill(frames)
            subscriber.pass_to(catch_up.place.cursor())
        else:
            await self._read_to(target, subscriber, catch_up)
        if subscriber.end is None:
            subscriber.release(self._cursor, cursor == self._cursor)

    async def _read_to(
        self, target: dict[int, int], subscriber: Subscriber, catch_up: CatchUp
    ) -> None:
        while catch_up.distance(target) and subscriber.end is None:
            async with self._turns:
                frames = await self._turn(target, subscriber, catch_up)
            await subscriber.fill(frames)
            subscriber.pass_to(catch_up.place.cursor())

    async def _turn(
        self, target: dict[int, int], subscriber: Subscriber, catch_up: CatchUp
    ) -> deque[Frame]:
        """Read on with one reader for a while, as long as the client keeps up; returns what it
        has no room for yet."""
        until = self._loop.time() + _TURN_S
        frames: deque[Frame] = deque()
        try:
            while catch_up.distance(target) and not frames and self._loop.time() < until:
                frames.extend(await self._in(self._readers, partial(catch_up.page, target)))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_STALL_S):
                        await subscriber.fill(frames)
        finally:
            with contextlib.suppress(RuntimeError):  # the hub has stopped
                self._readers.submit(catch_up.close)
        return frames

    def _is_ahead(self, catch_up: CatchUp) -> bool:
        """It has seen what the hub has not yet; of a session, sequences say what is new."""
        by_offsets = isinstance(catch_up.place, OffsetPosition)
        return by_offsets and catch_up.distance(self._positions, ahead=True) > 0

    def close(self, stream: Stream) -> None:
        """The client is gone."""
        self._end(stream.subscriber)
        self._streams.discard(stream)
        if stream.following is not None:
            stream.following.cancel()

    def _end(self, subscriber: Subscriber) -> None:
        subscriber.cursor = self.cursor_of(subscriber)
        subscriber.finish("ended")
        self._audience.leave(subscriber)

    def _end_all(self) -> None:
        for stream in self._streams:
            self._end(stream.subscriber)

    def cursor_of(self, subscriber: Subscriber) -> str:
        """With what was filtered since its last record."""
        shared = subscriber.live and not subscriber.by_sequence and subscriber.end is None
        return self._cursor if shared else subscriber.cursor

    def begin(self, topic: Followed, earlier: Mapping[int, int], batch: Batch) -> None:
        """The head has read from `earlier` to the end, and goes on from there."""
        if self._followed != topic:
            self._beginnings = Beginnings(self._log, topic.name, topic.partitions)
        self._followed = topic
        self._recent = Recent(self._most_recent, earlier)
        self._recent.add(batch.events)
        self._positions = batch.positions
        self._cursor = offsets_cursor(batch.positions)
        self._ready.set()

    def deliver(self, batch: Batch) -> None:
        """What the head has read."""
        self._audience.offer(batch.events)
        self._recent.add(batch.events)
        self._positions = batch.positions
        if batch.events:
            self._cursor = batch.events[-1].cursor

    def lose(self) -> None:
        """The head cannot go on; `begin` comes again when it can."""
        self._ready.clear()
        self._end_all()

    def pause_s(self) -> float:
        """How long the head waits between two batches, as to wake a client costs something."""
        return min(_MOST_PAUSE_S, len(self._streams) * _WAKE_S)

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None:
        """What the head has read of a partition, in its thread."""
        if self._beginnings is not None:
            self._beginnings.feed(number, records, begin, end)

    async def _watch_topic(self, head: Head) -> None:
        """A topic that was deleted and created again is not told by reading it, nor asked for
        often: see `Log.topic_ids`."""
        while True:
            await asyncio.sleep(_LOOK_S)
            now: Followed | None = None
            try:
                now = await self._in(self._readers, partial(followed, self._log, self._topic))
            except TopicsMismatch:
                pass
            except InfrastructureError:
                continue
            if self._ready.is_set() and now != self._followed:
                head.reopen()

    async def _in(self, pool: Executor, call: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(pool, call)
