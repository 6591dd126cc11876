"""The texts of events, each made once for all streams that are sent it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping

from streams.doors.mcp.event_types import EventType
from streams.doors.mcp.polling import Source, cursor_of
from streams.engine.records import TopicPartition

MOST_BYTES = 16 << 20
_OVERHEAD_BYTES = 600
"""About what an entry takes beside its text."""


class SharedEvents:
    """The texts that were asked for lately, at most 16 MiB of them, and the last cursors."""

    def __init__(self) -> None:
        self._texts: OrderedDict[Hashable, bytes | None] = OrderedDict()
        self._bytes = 0

    def text(self, key: Hashable, make: Callable[[], bytes | None]) -> bytes | None:
        """Return the text of a key, which `make` makes if it is not kept."""
        if key in self._texts:
            return self._texts[key]
        text = make()
        self._texts[key] = text
        self._bytes += _size_of(text)
        while self._bytes > MOST_BYTES:
            self._bytes -= _size_of(self._texts.popitem(last=False)[1])
        return text

    def cursor(
        self, kind: EventType, source: Source, positions: Mapping[TopicPartition, int]
    ) -> str:
        """Return the cursor at these positions, which are those of many streams."""
        text = self.text(
            (kind.name, *positions.items()), lambda: cursor_of(kind, source, positions).encode()
        )
        assert text is not None, "each position has a cursor"
        return text.decode()


def _size_of(text: bytes | None) -> int:
    return _OVERHEAD_BYTES + len(text or b"")
