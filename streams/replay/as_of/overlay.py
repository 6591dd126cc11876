"""Rows of a view as they were, over those that have not changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

from streams.views.keys import after, key
from streams.views.reads import Reads

Rows = dict[bytes, bytes | None]
"""What is different; None for a row that was not there."""


class Overlay:
    """`Reads`."""

    def __init__(self, view: Reads, rows: Mapping[bytes, bytes | None]) -> None:
        self._view = view
        self._rows = rows
        self._keys = sorted(rows)

    def get(self, *parts: str | int) -> bytes | None:
        return self.get_many([key(*parts)])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        found = zip(keys, self._view.get_many(keys), strict=True)
        return [self._rows.get(each, row) for each, row in found]

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        low = prefix if start is None or reverse else max(prefix, start)
        high = after(prefix) if start is None or not reverse else min(after(prefix), start)
        own = [(each, self._rows[each]) for each in self._keys if low <= each <= high]
        live = (
            entry
            for entry in self._view.scan(prefix, start, reverse=reverse)
            if entry[0] not in self._rows
        )
        both = merge(live, own[::-1] if reverse else own, key=lambda e: e[0], reverse=reverse)
        return ((place, row) for place, row in both if row is not None)
