"""Rows in layers: the changes of this step, of this cycle, of the commit in flight, then the store.

A key in a layer hides the layers below even when its value is None (a tombstone), so
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
    """Return the key of a row in RocksDB and in the shared changelog."""
    return b"%s\0%s" % (table.encode(), key.encode())


def layered(layers: Sequence[Mapping[bytes, bytes | None]], below: GetMany) -> GetMany:
    """Return a read function that searches the layers, the first on top, then `below`."""

    def get_many(keys: Sequence[bytes]) -> list[bytes | None]:
        rows: Bytes = {}
        missing: list[bytes] = []
        for key in keys:
            for layer in layers:
                if key in layer:
                    rows[key] = layer[key]
                    break
            else:
                missing.append(key)
        if missing:
            rows.update(zip(missing, below(missing), strict=True))
        return [rows[key] for key in keys]

    return get_many


def row_of(table: Table, key: str, raw: bytes) -> AvroValue:
    """Decode a processor's row.  Raises InternalUnreadable if a later version wrote it."""
    try:
        return decode(raw, table.record).value
    except Undecodable as exc:
        raise InternalUnreadable(
            f"row {key} of {table.name}: {exc.message}", row=store_key(table.name, key)
        ) from exc


class Cause:
    """The position of the record that is being decided.

    A step shares this object with its tables, so that tables need no reference to their step.
    Without reference cycles a batch's objects are freed at once, and the garbage collector, which
    stops all threads, has nothing to collect.
    """

    __slots__ = ("position",)

    def __init__(self, position: str = "") -> None:
        self.position = position


class TableRows:
    """One table in one step (the `Rows` that processors see).

    below: the same table in the step that this one is a part of.
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
        self._loaded: dict[str, bytes | None] = {}
        self._prefix = table.name.encode() + b"\0"

    def load(self, keys: Iterable[str]) -> None:
        new = [key for key in dict.fromkeys(keys) if key not in self._loaded]
        if new:
            rows = self._read([self._prefix + key.encode() for key in new])
            self._loaded.update(zip(new, rows, strict=True))

    def get(self, key: str) -> AvroValue | None:
        if key in self.changed:
            return self.changed[key][0]
        if self._below is not None and key in self._below.changed:
            return copy.deepcopy(self._below.changed[key][0])
        if key not in self._loaded:
            self.load((key,))
        raw = self._loaded[key]
        return None if raw is None else row_of(self.table, key, raw)

    def put(self, key: str, row: AvroValue) -> None:
        self.changed[key] = (row, self._cause.position)

    def delete(self, key: str) -> None:
        self.changed[key] = (None, self._cause.position)

    def encoded(self) -> list[tuple[str, bytes | None, str]]:
        """Return (key, row or tombstone, cause) of every changed row, in order of first change."""
        full = [row for row, _ in self.changed.values() if row is not None]
        values = iter(encode_many(self.table.record, full))
        return [
            (key, None if row is None else next(values), cause)
            for key, (row, cause) in self.changed.items()
        ]
