"""The write batch of a view: changed rows, and reads of the rows as they were before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Generic, NamedTuple, Self, TypeVar

from streams.engine.records import Record
from streams.views.keys import after
from streams.views.reads import RowReader

T = TypeVar("T")


class Cell(NamedTuple, Generic[T]):
    """A codec for a row that many records of a batch change.

    load: decodes a row.  dump: encodes it again, None to delete it.
    """

    load: Callable[[bytes | None], T]
    dump: Callable[[T], bytes | None]


class WriteBatch(dict[bytes, bytes | None]):
    """The rows to be written, None for a row to be deleted.

    Rows that many records of a batch change a little are held decoded, as cells; call `settle`
    last.
    shared: by full topic name, the records of the batch with decoded members, for those who need
    them after the topic's own projection.
    """

    def __init__(self, store: RowReader) -> None:
        super().__init__()
        self._store = store
        self._loaded: dict[bytes, bytes | None] = {}
        self._indexed: dict[bytes, set[bytes]] = {}
        self._cells: dict[bytes, tuple[Any, Cell[Any]]] = {}
        self.shared: dict[str, Sequence[tuple[Record, Mapping[str, Any]]]] = {}

    def cell(self, key: bytes, kind: Cell[T]) -> T:
        """Return the decoded content of a row, to be changed in place.

        The row must not be read or set in another way.
        """
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = kind.load(self.read(key)), kind
        content: T = cell[0]
        return content

    def settle(self) -> Self:
        """Encode all cells as rows."""
        for key, (content, kind) in self._cells.items():
            self[key] = kind.dump(content)
        self._cells.clear()
        return self

    def index(self, prefix: bytes, key: bytes, row: bytes | None) -> None:
        """Set a row that `last` must find."""
        self[key] = row
        self._indexed.setdefault(prefix, set()).add(key)

    def load(self, keys: Iterable[bytes]) -> None:
        """Read rows that will be needed in one call; this only saves time."""
        missing = [key for key in set(keys) if key not in self and key not in self._loaded]
        if missing:
            self._loaded.update(zip(missing, self._store.get_many(missing), strict=True))

    def read(self, key: bytes) -> bytes | None:
        if key in self:
            return self[key]
        if key not in self._loaded:
            (self._loaded[key],) = self._store.get_many([key])
        return self._loaded[key]

    def under(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the rows under `prefix`, with this batch applied, in no order."""
        stored = dict(self._store.scan(prefix))
        changed = {key: row for key, row in self.items() if key.startswith(prefix)}
        return ((key, row) for key, row in {**stored, **changed}.items() if row is not None)

    def stored_until(self, prefix: bytes, end: bytes) -> Iterator[bytes]:
        """Yield the keys of stored rows under `prefix` below `end`, without this batch."""
        return takewhile(
            lambda row_key: row_key < end, (key for key, _ in self._store.scan(prefix))
        )

    def last(self, prefix: bytes) -> bytes | None:
        """Return the greatest key under `prefix`; of this batch's keys only indexed ones count."""
        indexed = (key for key in self._indexed.get(prefix, ()) if self[key] is not None)
        stored = self._store.scan(prefix, after(prefix), reverse=True)
        unchanged = islice((key for key, _ in stored if key not in self), 1)
        return max((*indexed, *unchanged), default=None)


class MemoryStore:
    """A store in memory, for temporary rows."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: list[bytes] | None = None

    def write(self, rows: WriteBatch) -> None:
        for key, row in rows.settle().items():
            if row is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = row
        self._keys = None

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._rows.get(key) for key in keys]

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        if self._keys is None:
            self._keys = sorted(self._rows)
        low, high = prefix, after(prefix)
        if start is not None:
            low, high = (low, min(high, start)) if reverse else (max(low, start), high)
        keys = self._keys[bisect_left(self._keys, low) : bisect_right(self._keys, high)]
        for key in reversed(keys) if reverse else keys:
            yield key, self._rows[key]
