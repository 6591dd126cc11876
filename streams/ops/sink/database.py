"""The file of a sink.  The only module that imports sqlite3.

Rows and their offsets are committed together, so after a kill the file shows where to continue.
Before each batch the offsets are compared with what this process wrote last: if they differ,
another sink writes to the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.engine.records import TopicPartition
from streams.errors import InfrastructureError, NegativeAnswer
from streams.ops.sink import tables
from streams.ops.sink.rows import Change

BUSY_S = 30.0
"""How long to wait for a lock that another process holds."""

Offsets = Mapping[TopicPartition, int]


class FileRefused(NegativeAnswer):
    """The file does not belong to this sink."""

    default_advice = "Give another file with --db."


class FileFailed(InfrastructureError):
    default_advice = "Check the disk and the rights; what was committed is kept."


class Database:
    """A sink's SQLite database.

    meta: values that must not change for an existing file, by name.
    offsets: the next offset of each partition, as committed.
    Raises FileRefused for a file of something else, FileFailed if SQLite fails.
    """

    def __init__(self, path: Path, meta: Mapping[str, str]) -> None:
        self.path = path
        self._expected_meta = {"format": tables.FORMAT, **meta}
        with self._wrap_errors():
            self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            with self._wrap_errors():
                self._open()
            self.offsets: dict[TopicPartition, int] = self._read_offsets()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            if not self._names():
                for statement in tables.TABLES.split(";"):
                    self._connection.execute(statement)
                rows = list(self._expected_meta.items())
                self._connection.executemany("INSERT INTO sink_meta VALUES (?, ?)", rows)
            self._check()
        self._connection.execute("PRAGMA journal_mode = WAL")

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_schema")}

    def _check(self) -> None:
        if "sink_meta" not in self._names():
            raise FileRefused(f"{self.path} is another program's database")
        stored_meta = dict(self._connection.execute("SELECT name, value FROM sink_meta"))
        for name, value in self._expected_meta.items():
            if stored_meta.get(name) != value:
                raise FileRefused(
                    f"{self.path} is of {name} {stored_meta.get(name)!r}, not {value!r}"
                )

    def _read_offsets(self) -> dict[TopicPartition, int]:
        rows = self._connection.execute('SELECT topic, "partition", next_offset FROM sink_offsets')
        return {TopicPartition(topic, number): offset for topic, number, offset in rows}

    def write(self, changes: Sequence[Change], offsets: Offsets) -> None:
        """Write one batch atomically.  offsets: the next one of each partition that has moved."""
        with self._wrap_errors(), self._transaction():
            if self._read_offsets() != self.offsets:
                raise FileRefused(
                    f"another sink writes to {self.path}", advice="Stop one of the two."
                )
            self._connection.executemany(tables.INSERT_LOG, [change.log for change in changes])
            for change in changes:
                for statement, values in change.tasks:
                    self._connection.execute(statement, values)
            rows = [(*tp, offset) for tp, offset in offsets.items()]
            self._connection.executemany(tables.SET_OFFSET, rows)
        self.offsets.update(offsets)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as exc:
            raise FileRefused(f"{self.path} holds rows that its offsets do not say: {exc}") from exc
        except sqlite3.OperationalError as exc:
            raise FileFailed(f"{self.path} cannot be written: {exc}") from exc
        except sqlite3.DatabaseError as exc:
            raise FileRefused(f"{self.path} is no database that can be used: {exc}") from exc

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
