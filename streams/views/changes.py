"""The rows that one batch of records changes, read through what they were before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from streams.views.keys import after


class Kept(Protocol):
    """Rows in key order; `Store` is one."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]: ...


class Changes(dict[bytes, bytes | None]):
    """What is to be written, None for a row to be deleted."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self._kept = kept
        self._loaded: dict[bytes, bytes | None] = {}
        self._indexed: dict[bytes, set[bytes]] = {}

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
            self.load([key])
        return self._loaded[key]

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
        for key, row in rows.items():
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
