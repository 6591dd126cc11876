"""A temporary RocksDB for what a verification cannot keep in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from streams.engine.store import Store

_BUFFER_LIMIT = 4000
"""Rows that are buffered before they are written."""


class SpillStore:
    """A byte store with a write buffer.  Reads include what was just written."""

    def __init__(self, path: Path) -> None:
        self._store = Store(path)
        self._new: dict[bytes, bytes | None] = {}

    def put(self, key: bytes, value: bytes | None) -> None:
        self._new[key] = value
        if len(self._new) >= _BUFFER_LIMIT:
            self.flush()

    def get(self, key: bytes) -> bytes | None:
        return self._new[key] if key in self._new else self._store.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.flush()
        return self._store.get_many(keys)

    def flush(self) -> None:
        if self._new:
            self._store.write(self._new)
            self._new = {}

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the current rows whose key begins with `prefix`; yield keys without it."""
        self.flush()
        return ((key[len(prefix) :], row) for key, row in self._store.scan(prefix))

    def close(self) -> None:
        self._store.close()


class MemorySpill:
    """A byte store in memory, for the few values of a single check."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes | None] = {}

    def put(self, key: bytes, value: bytes | None) -> None:
        self._rows[key] = value

    def get(self, key: bytes) -> bytes | None:
        return self._rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._rows.get(key) for key in keys]

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the rows whose key begins with `prefix`; yield keys without it."""
        rows = sorted((key, row) for key, row in self._rows.items() if row is not None)
        return ((key[len(prefix) :], row) for key, row in rows if key.startswith(prefix))


class SpillMap:
    """Python values in a scratch store, under a name.

    They are pickled: the directory belongs to this process, and nobody else writes to it.
    """

    def __init__(self, scratch: SpillStore | MemorySpill, name: str) -> None:
        self._scratch = scratch
        self._prefix = name.encode() + b"\0"

    def get(self, *key: object) -> Any:
        """Return the value of a key, None if it has none."""
        raw = self._scratch.get(self._key(key))
        return None if raw is None else pickle.loads(raw)

    def put(self, value: Any, *key: object) -> None:
        self._scratch.put(self._key(key), pickle.dumps(value))

    def get_many(self, keys: Iterable[str]) -> list[Any]:
        rows = self._scratch.get_many([self._key((key,)) for key in keys])
        return [None if raw is None else pickle.loads(raw) for raw in rows]

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the items in the order of their keys, which must have one part."""
        rows = self._scratch.scan(self._prefix)
        return ((key.decode(), pickle.loads(raw)) for key, raw in rows)

    def _key(self, key: Iterable[object]) -> bytes:
        return self._prefix + "\0".join(map(str, key)).encode()
