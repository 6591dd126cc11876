"""A view with the earlier rows of one thing laid over its current ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

from streams.views.keys import after, key
from streams.views.reads import ReadOnlyStore
from streams.views.suspended import SuspendedQueries

Rows = dict[bytes, bytes | None]
"""The rows that differ from the view; None for a row that did not exist."""


class Overlay:
    """A read-only view (`ReadOnlyStore`) in which some rows are replaced."""

    def __init__(self, view: ReadOnlyStore, rows: Mapping[bytes, bytes | None]) -> None:
        self._view = view
        self._rows = rows
        self._keys = sorted(rows)
        self.suspended = SuspendedQueries(time.monotonic)

    def get(self, *parts: str | int) -> bytes | None:
        return self.get_many([key(*parts)])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        current = zip(keys, self._view.get_many(keys), strict=True)
        return [self._rows.get(each, row) for each, row in current]

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        low = prefix if start is None or reverse else max(prefix, start)
        high = after(prefix) if start is None or not reverse else min(after(prefix), start)
        replaced = [(each, self._rows[each]) for each in self._keys if low <= each <= high]
        live = (
            entry
            for entry in self._view.scan(prefix, start, reverse=reverse)
            if entry[0] not in self._rows
        )
        both = merge(
            live, replaced[::-1] if reverse else replaced, key=lambda e: e[0], reverse=reverse
        )
        return ((row_key, row) for row_key, row in both if row is not None)
