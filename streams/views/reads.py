"""What query functions read from: one consistent state of a view's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from streams.views.keys import key


class Kept(Protocol):
    """Rows in key order."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows whose key begins with prefix, in key order or against it; start counts."""


class Reads(Kept, Protocol):
    """Rows that do not change while they are looked at."""

    def get(self, *parts: str | int) -> bytes | None:
        """The row under the key of these parts."""


class KeptReads:
    """`Reads` of rows."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def get(self, *parts: str | int) -> bytes | None:
        return self._kept.get_many([key(*parts)])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._kept.get_many(keys) if keys else []

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._kept.scan(prefix, start, reverse=reverse)


class SnapshotReads(KeptReads):
    """Of a snapshot, until it is released: its store can be opened again only then."""

    def release(self) -> None:
        del self._kept
