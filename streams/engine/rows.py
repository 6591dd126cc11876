"""Rows in layers: what this step changed, this cycle, the commit in flight, then the store.

A key that is in a layer hides what lies below even when its value is None (a tombstone), so
layers are searched by membership, not by truth.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence

from schemas import Undecodable, decode, encode_many
from streams.engine.processor import AvroValue
from streams.errors import InternalUnreadable
from topology.declarations import Table

Bytes = dict[bytes, bytes | None]
GetMany = Callable[[Sequence[bytes]], list[bytes | None]]


def store_key(table: str, key: str) -> bytes:
    """Where a row lies in RocksDB, and its key in the shared changelog."""
    return b"%s\0%s" % (table.encode(), key.encode())


def layered(layers: Sequence[Mapping[bytes, bytes | None]], below: GetMany) -> GetMany:
    """Reads through layers, the first on top, down to `below`."""

    def get_many(keys: Sequence[bytes]) -> list[bytes | None]:
        found: Bytes = {}
        rest: list[bytes] = []
        for key in keys:
            for layer in layers:
                if key in layer:
                    found[key] = layer[key]
                    break
            else:
                rest.append(key)
        if rest:
            found.update(zip(rest, below(rest), strict=True))
        return [found[key] for key in keys]

    return get_many


def row_of(table: Table, key: str, raw: bytes) -> AvroValue:
    """A row that processors have written.  Raises InternalUnreadable: a later version has."""
    try:
        return decode(raw, table.record).value
    except Undecodable as exc:
        raise InternalUnreadable(f"row {key} of {table.name}: {exc.message}") from exc


class Cause:
    """position: of the record that is being decided.

    What a step and its tables share, so that no table needs its step: objects that form no circle
    are gone with their batch, and the collector, which holds everyone up, has nothing to find.
    """

    __slots__ = ("position",)

    def __init__(self, position: str = "") -> None:
        self.position = position


class TableRows:
    """One table of one step (the `Rows` that processors see).

    below: the same table of the step that this one is a part of.
    """

    def __init__(
        self,
        table: Table,
        read: GetMany,
        cause: Cause,
        below: TableRows | None = None,
    ) -> None:
        self.table = table
        self._below = below
        self.changed: dict[str, tuple[AvroValue | None, str]] = {}
        self._read = read
        self._cause = cause
        self._seen: dict[str, bytes | None] = {}
        self._prefix = table.name.encode() + b"\0"

    def load(self, keys: Iterable[str]) -> None:
        new = [key for key in dict.fromkeys(keys) if key not in self._seen]
        if new:
            found = self._read([self._prefix + key.encode() for key in new])
            self._seen.update(zip(new, found, strict=True))

    def get(self, key: str) -> AvroValue | None:
        if key in self.changed:
            return self.changed[key][0]
        if self._below is not None and key in self._below.changed:
            return copy.deepcopy(self._below.changed[key][0])
        if key not in self._seen:
            self.load((key,))
        raw = self._seen[key]
        return None if raw is None else row_of(self.table, key, raw)

    def put(self, key: str, row: AvroValue) -> None:
        self.changed[key] = (row, self._cause.position)

    def delete(self, key: str) -> None:
        self.changed[key] = (None, self._cause.position)

    def encoded(self) -> list[tuple[str, bytes | None, str]]:
        """(key, row or tombstone, cause) of every changed row, in order of first change."""
        full = [row for row, _ in self.changed.values() if row is not None]
        values = iter(encode_many(self.table.record, full))
        return [
            (key, None if row is None else next(values), cause)
            for key, (row, cause) in self.changed.items()
        ]
