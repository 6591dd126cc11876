"""The rows that one batch of records changes, read through what they were before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, Self, TypeVar

from streams.views.keys import after
from streams.views.reads import Kept

T = TypeVar("T")


class Cell(NamedTuple, Generic[T]):
    """How figures are read from a row, and what row they make, None for none."""

    load: Callable[[bytes | None], T]
    dump: Callable[[T], bytes | None]


class Changes(dict[bytes, bytes | None]):
    """What is to be written, None for a row to be deleted.

    Rows of which many records of a batch change a little are kept as cells; `settle` comes last.
    """

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self._kept = kept
        self._loaded: dict[bytes, bytes | None] = {}
        self._indexed: dict[bytes, set[bytes]] = {}
        self._cells: dict[bytes, tuple[Any, Cell[Any]]] = {}

    def cell(self, key: bytes, kind: Cell[T]) -> T:
        """The figures in a row, to be changed in place; it must not be read or set otherwise."""
        held = self._cells.get(key)
        if held is None:
            held = self._cells[key] = kind.load(self.read(key)), kind
        figures: T = held[0]
        return figures

    def settle(self) -> Self:
        """Turn cells into rows."""
        for key, (figures, kind) in self._cells.items():
            self[key] = kind.dump(figures)
        self._cells.clear()
        return self

    def index(self, prefix: bytes, key: bytes, row: bytes | None) -> None:
        """Set a row that `last` is to find."""
        self[key] = row
        self._indexed.setdefault(prefix, set()).add(key)

    def load(self, keys: Iterable[bytes]) -> None:
        """Fetch rows that will be asked for, in one call; only a matter of speed."""
        wanted = [key for key in set(keys) if key not in self and key not in self._loaded]
        if wanted:
            self._loaded.update(zip(wanted, self._kept.get_many(wanted), strict=True))

    def read(self, key: bytes) -> bytes | None:
        if key in self:
            return self[key]
        if key not in self._loaded:
            (self._loaded[key],) = self._kept.get_many([key])
        return self._loaded[key]

    def under(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows that begin with prefix, as they are now, in no order."""
        kept = dict(self._kept.scan(prefix))
        own = {key: row for key, row in self.items() if key.startswith(prefix)}
        return ((key, row) for key, row in {**kept, **own}.items() if row is not None)

    def last(self, prefix: bytes) -> bytes | None:
        """The greatest key that begins with prefix; of those in this batch only indexed ones."""
        own = (key for key in self._indexed.get(prefix, ()) if self[key] is not None)
        kept = self._kept.scan(prefix, after(prefix), reverse=True)
        still = islice((key for key, _ in kept if key not in self), 1)
        return max((*own, *still), default=None)


class Memory:
    """Rows in memory, for what is computed and dropped."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: list[bytes] | None = None

    def write(self, rows: Changes) -> None:
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
        found = self._keys[bisect_left(self._keys, low) : bisect_right(self._keys, high)]
        for key in reversed(found) if reverse else found:
            yield key, self._rows[key]
