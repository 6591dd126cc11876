"""What waits for one client, within bounds."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal, NamedTuple

from streams.gateway.sse.events import Event, Frame
from streams.log.filters import Filters
from streams.log.tail_positions import LogPosition, SequencePosition

End = Literal["overflow", "ended"]
CHUNK_BYTES = 1 << 16


class Bounds(NamedTuple):
    """What may wait for one client; one record may, however large."""

    records: int
    size: int


class Subscriber:
    """All of it runs on the event loop.

    cursor: of what was put in or filtered.  sent: of what was taken out.
    """

    def __init__(self, filters: Filters, place: LogPosition, bounds: Bounds) -> None:
        self.filters = filters
        self.place = place
        self.by_sequence = isinstance(place, SequencePosition)
        self.cursor = self.sent = place.cursor()
        self.end: End | None = None
        self.live = False
        self._bounds = bounds
        self._plain = not (filters.sessions or filters.kinds or filters.tasks)
        self._held: list[Event] | None = None
        self._waiting: deque[Frame] = deque()
        self._size = 0
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()

    def hold(self) -> None:
        """Keep what is offered until `release`, while older records are still being read."""
        self._held = []

    def release(self, cursor: str, quiet: bool) -> None:
        """cursor: of the hub.  quiet: nothing came since `hold`, so that it names the place to
        which the subscriber has come by itself, perhaps beyond what is no record.
        """
        held, self._held = self._held or [], None
        self.live = True
        if quiet and not self.by_sequence:
            if self._waiting and self._waiting[-1].cursor == self.cursor:
                self._waiting[-1] = Frame(cursor, self._waiting[-1].text)
            elif self.sent == self.cursor:
                self.sent = cursor
            self.cursor = cursor
        for event in held:
            self.offer(event)

    def offer(self, event: Event) -> None:
        """An event from the end of the log; a session's subscriber is offered only its own."""
        if self.end is not None:
            return
        if self._held is not None:
            self._held.append(event)
            if len(self._held) > self._bounds.records:
                self._overflow()
            return
        record = event.record
        if self.by_sequence:
            if not self.place.see(record.partition, record.offset, event.value):
                return
            self.cursor = event.sequence_cursor
        else:
            self.cursor = event.cursor
        if self._plain or self.filters.fit(record, event.value):
            self.put(self.cursor, event.by_sequence if self.by_sequence else event.by_offsets)

    def pass_to(self, cursor: str) -> None:
        """What lies before that cursor was put in or filtered."""
        if self.end is None:
            self.cursor = cursor

    def put(self, cursor: str, text: bytes) -> None:
        if self.end is not None:
            return
        self.cursor = cursor
        self._waiting.append(Frame(cursor, text))
        self._size += len(text)
        self._filled.set()
        count = len(self._waiting)
        if count > self._bounds.records or (count > 1 and self._size > self._bounds.size):
            self._overflow()

    def _overflow(self) -> None:
        self._waiting.clear()
        self._size = 0
        self.finish("overflow")

    def finish(self, end: End) -> None:
        if self.end is None:
            self.end = end
        self._held = None
        self._filled.set()
        self._emptied.set()

    def take(self) -> bytes:
        """What waits, at most CHUNK_BYTES or one record; empty when nothing does."""
        frames: list[bytes] = []
        size = 0
        while self._waiting and (not frames or size + len(self._waiting[0].text) <= CHUNK_BYTES):
            self.sent, text = self._waiting.popleft()
            frames.append(text)
            size += len(text)
        self._size -= size
        if self._is_roomy():
            self._emptied.set()
        return b"".join(frames)

    async def filled(self, timeout_s: float) -> bool:
        """Until something waits or the end has come; False when neither does in that time."""
        if self._waiting or self.end is not None:
            return True
        self._filled.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            return False
        return True

    async def fill(self, frames: deque[Frame]) -> None:
        """Put them in as there is room, half of the bounds; whatever is left was not put in."""
        while frames and self.end is None:
            if self._is_roomy():
                self.put(*frames.popleft())
            else:
                self._emptied.clear()
                await self._emptied.wait()

    def _is_roomy(self) -> bool:
        half = self._bounds.records // 2
        return len(self._waiting) <= half and self._size <= self._bounds.size // 2
