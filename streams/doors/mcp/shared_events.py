"""The texts of events, each made once for all streams that are sent it.

Streams of the same events are mostly at the same place, so what they are sent next is shared too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from streams.doors.mcp.event_types import EventType
from streams.doors.mcp.polling import Positions, Source, cursor_of
from streams.engine.records import TopicPartition

T = TypeVar("T")
MOST_BYTES = 16 << 20
_OVERHEAD_BYTES = 600
"""About what an entry takes beside its text."""


class EventBatch(NamedTuple):
    """The events of some records that follow each other.

    texts: of the events that match, each with its cursor.  positions, cursor: behind the records.
    is_last: there were no further records.
    """

    texts: Sequence[bytes]
    positions: Positions
    cursor: str
    is_last: bool


class SharedEvents:
    """A store of what was asked for lately, at most 16 MiB: texts of events, batches, cursors."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[int, object]] = OrderedDict()
        self._bytes = 0

    def text(self, key: Hashable, make: Callable[[], bytes | None]) -> bytes | None:
        """Return the text of a key, which `make` makes if it is not kept."""
        return self._find(key, make, lambda text: len(text or b""))

    def batch(self, key: Hashable, make: Callable[[], EventBatch | None]) -> EventBatch | None:
        """Return the batch of a key, which `make` makes if it is not kept."""
        return self._find(key, make, lambda batch: 0 if batch is None else _length_of(batch))

    def _find(self, key: Hashable, make: Callable[[], T], length_of: Callable[[T], int]) -> T:
        if key in self._entries:
            existing: T = self._entries[key][1]  # type: ignore[assignment] # a key is of one kind
            return existing
        value = make()
        size = _OVERHEAD_BYTES + length_of(value)
        self._entries[key] = size, value
        self._bytes += size
        while self._bytes > MOST_BYTES:
            self._bytes -= self._entries.popitem(last=False)[1][0]
        return value

    def cursor(
        self, kind: EventType, source: Source, positions: Mapping[TopicPartition, int]
    ) -> str:
        """Return the cursor at these positions, which are those of many streams."""
        text = self.text(
            (kind.name, *positions.items()), lambda: cursor_of(kind, source, positions).encode()
        )
        assert text is not None, "each position has a cursor"
        return text.decode()


def _length_of(batch: EventBatch) -> int:
    return sum(map(len, batch.texts))
