"""Suspended queries: work that the next page of a list would else repeat."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

MAX_SIZE = 200_000
"""The default bound of the sizes of all queries of one view together."""
LIFETIME_S = 120.0
"""The default time that a query waits for its next page."""


class _Entry(NamedTuple):
    query: Any
    size: int
    expires: float


class SuspendedQueries:
    """Queries that wait for their next page, by its cursor.  Any thread may call the methods.

    A query that is missing costs time only: the page is computed from the beginning.
    max_size: the oldest are dropped when the sizes of all together exceed this.
    clock: seconds, as `time.monotonic` gives them.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        max_size: int = MAX_SIZE,
        lifetime_s: float = LIFETIME_S,
    ) -> None:
        self._clock, self._max_size, self._lifetime_s = clock, max_size, lifetime_s
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def take(self, cursor: str) -> Any | None:
        """Remove and return the query, which only the caller then uses; None if there is none."""
        with self._lock:
            self._drop_old()
            return self._remove(cursor)

    def put(self, cursor: str, query: Any, size: int) -> None:
        """Suspend a query of this size."""
        with self._lock:
            self._remove(cursor)
            self._entries[cursor] = _Entry(query, size, self._clock() + self._lifetime_s)
            self._size += size
            self._drop_old()

    def _drop_old(self) -> None:
        now = self._clock()
        while self._entries:
            cursor, oldest = next(iter(self._entries.items()))
            if self._size <= self._max_size and oldest.expires > now:
                return
            self._remove(cursor)

    def _remove(self, cursor: str) -> Any | None:
        entry = self._entries.pop(cursor, None)
        if entry is None:
            return None
        self._size -= entry.size
        return entry.query
