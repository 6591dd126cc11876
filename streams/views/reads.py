"""The read interface of query functions: one consistent state of a view's rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from streams.views.keys import key
from streams.views.suspended import SuspendedQueries


class RowReader(Protocol):
    """A store of rows in key order."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows under `prefix` in either order, from `start` on (inclusive)."""


class ReadOnlyStore(RowReader, Protocol):
    """A read-only store whose rows do not change during a query."""

    @property
    def suspended(self) -> SuspendedQueries:
        """Return the view's queries that wait for their next page."""

    def get(self, *parts: str | int) -> bytes | None:
        """Return the row whose key has these parts, None if there is none."""


class StoredRows:
    """The `ReadOnlyStore` interface over a store of rows."""

    def __init__(self, store: RowReader, suspended: SuspendedQueries | None = None) -> None:
        self._rows = store
        self._suspended = suspended or SuspendedQueries(time.monotonic)

    @property
    def suspended(self) -> SuspendedQueries:
        return self._suspended

    def get(self, *parts: str | int) -> bytes | None:
        return self._rows.get_many([key(*parts)])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._rows.get_many(keys) if keys else []

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._rows.scan(prefix, start, reverse=reverse)


class SnapshotRows(StoredRows):
    """The `ReadOnlyStore` of a snapshot.  `release` it before its store is reopened."""

    def release(self) -> None:
        del self._rows
