"""The lineage graph as it was at some time, without the edges that were written later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from streams.view_store.graph.index import IN, OUT, Link
from streams.views.keys import number_at_end, texts_in
from streams.views.reads import RowReader

_CHUNK = 256
_TIME_BYTES = 8


class EdgesUntil:
    """The index rows of a view's edges that were first written at a time or before it.

    until: ms since the epoch.
    """

    def __init__(self, view: RowReader, until: int) -> None:
        self._view = view
        self._until = until

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._view.get_many(keys)

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        rows = self._view.scan(prefix, start, reverse=reverse)
        while chunk := list(islice(rows, _CHUNK)):
            edges = self._view.get_many([_edge_key(row_key) for row_key, _ in chunk])
            for entry, edge in zip(chunk, edges, strict=True):
                if edge is not None and number_at_end(edge[:_TIME_BYTES]) <= self._until:
                    yield entry


def _edge_key(row_key: bytes) -> bytes:
    """Return the key of the row with an edge's time.  row_key: of the index, either way."""
    if row_key.startswith(OUT):
        return row_key
    target, relation, source = texts_in(row_key.removeprefix(IN))
    return Link(source, relation, target).index_key
