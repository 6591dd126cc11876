"""The output buffer of one client, and the index of the clients at the end of the log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from streams.gateway.live_tail.events import Event, Frame
from streams.log.filters import Filters
from streams.log.tail_positions import LogPosition, SequencePosition

End = Literal["overflow", "ended"]
CHUNK_BYTES = 1 << 16


class Bounds(NamedTuple):
    """Limits of one client's buffer; it takes one record of any size."""

    records: int
    size: int


class Subscriber:
    """The filters, position and output buffer of one client; all methods run on the event loop.

    cursor: the position of the last record that was put in or filtered.  sent: the position of the
    last record that was taken out.
    """

    def __init__(self, filters: Filters, log_position: LogPosition, bounds: Bounds) -> None:
        self.filters = filters
        self.log_position = log_position
        self.by_sequence = isinstance(log_position, SequencePosition)
        self.cursor = self.sent = log_position.cursor()
        self.end: End | None = None
        self.live = False
        self._bounds = bounds
        self._unfiltered = not (filters.sessions or filters.kinds or filters.tasks)
        self._buffered: list[Event] | None = None
        self._frames: deque[Frame] = deque()
        self._size = 0
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()

    def hold(self) -> None:
        """Buffer offered events until `release`, while older records are still being read."""
        self._buffered = []

    def release(self, cursor: str, quiet: bool) -> None:
        """Offer the buffered events and make the subscriber live.

        cursor: the cursor of the hub.  quiet: no event came since `hold`, so the cursor is also the
        subscriber's position, possibly after offsets without a record.
        """
        buffered, self._buffered = self._buffered or [], None
        self.live = True
        if quiet and not self.by_sequence:
            if self._frames and self._frames[-1].cursor == self.cursor:
                self._frames[-1] = Frame(cursor, self._frames[-1].text)
            elif self.sent == self.cursor:
                self.sent = cursor
            self.cursor = cursor
        for event in buffered:
            self.offer(event)

    def offer(self, event: Event) -> None:
        """Take an event from the end of the log; a session's subscriber gets only its own."""
        if self.end is not None:
            return
        if self._buffered is not None:
            self._buffered.append(event)
            if len(self._buffered) > self._bounds.records:
                self._overflow()
            return
        record = event.record
        if self.by_sequence:
            if not self.log_position.see(record.partition, record.offset, event.value):
                return
            self.cursor = event.sequence_cursor
        else:
            self.cursor = event.cursor
        if self._unfiltered or self.filters.fit(record, event.value):
            self.put(self.cursor, event.by_sequence if self.by_sequence else event.by_offsets)

    def advance_to(self, cursor: str) -> None:
        """Set the cursor, when all records before it were put in or filtered."""
        if self.end is None:
            self.cursor = cursor

    def put(self, cursor: str, text: bytes) -> None:
        if self.end is not None:
            return
        self.cursor = cursor
        self._frames.append(Frame(cursor, text))
        self._size += len(text)
        self._filled.set()
        count = len(self._frames)
        if count > self._bounds.records or (count > 1 and self._size > self._bounds.size):
            self._overflow()

    def _overflow(self) -> None:
        self._frames.clear()
        self._size = 0
        self.finish("overflow")

    def finish(self, end: End) -> None:
        if self.end is None:
            self.end = end
        self._buffered = None
        self._filled.set()
        self._emptied.set()

    def take(self) -> bytes:
        """Take out at most CHUNK_BYTES or one record; return nothing if the buffer is empty."""
        frames: list[bytes] = []
        size = 0
        while self._frames and (not frames or size + len(self._frames[0].text) <= CHUNK_BYTES):
            self.sent, text = self._frames.popleft()
            frames.append(text)
            size += len(text)
        self._size -= size
        if self._is_roomy():
            self._emptied.set()
        return b"".join(frames)

    async def wait_filled(self, timeout_s: float) -> bool:
        """Wait until the buffer has data or the stream has ended; return False on timeout."""
        if self._frames or self.end is not None:
            return True
        self._filled.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            return False
        return True

    async def fill(self, frames: deque[Frame]) -> None:
        """Put frames in while the buffer is at most half full; remove them from `frames`."""
        while frames and self.end is None:
            if self._is_roomy():
                self.put(*frames.popleft())
            else:
                self._emptied.clear()
                await self._emptied.wait()

    def _is_roomy(self) -> bool:
        half = self._bounds.records // 2
        return len(self._frames) <= half and self._size <= self._bounds.size // 2


class SubscriberIndex:
    """The subscribers that have reached the end of the log, by the session that they follow."""

    def __init__(self) -> None:
        self._all_sessions: set[Subscriber] = set()
        self._by_session: dict[bytes, set[Subscriber]] = {}

    def join(self, subscriber: Subscriber) -> None:
        sessions = subscriber.filters.sessions
        if sessions is None:
            self._all_sessions.add(subscriber)
        for name in sessions or ():
            self._by_session.setdefault(name.encode(), set()).add(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        self._all_sessions.discard(subscriber)
        for key in [name.encode() for name in subscriber.filters.sessions or ()]:
            group = self._by_session.get(key, set())
            group.discard(subscriber)
            if not group:
                self._by_session.pop(key, None)

    def offer(self, events: Iterable[Event]) -> None:
        for event in events:
            for subscriber in self._all_sessions:
                subscriber.offer(event)
            for subscriber in self._by_session.get(event.record.key or b"", ()):
                subscriber.offer(event)
