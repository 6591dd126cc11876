"""The file of a sink.  The only module that imports sqlite3.

Rows and the offsets behind them are committed together, so after a kill the file says itself where
to go on.  Before each batch the offsets are compared with what this process has written last: if
they differ, another sink writes to the file.
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
"""How long a lock that another process holds is waited for."""

Offsets = Mapping[TopicPartition, int]


class FileRefused(NegativeAnswer):
    """The file is not this sink's to write."""

    default_advice = "Give another file with --db."


class FileFailed(InfrastructureError):
    default_advice = "Check the disk and the rights; what was committed is kept."


class Database:
    """meta: what must not change under a kept file, by name.

    offsets: the next offset of each partition, as committed.
    Raises FileRefused for a file of something else, FileFailed when SQLite fails.
    """

    def __init__(self, path: Path, meta: Mapping[str, str]) -> None:
        self.path = path
        self._wanted = {"format": tables.FORMAT, **meta}
        with self._failures():
            self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            with self._failures():
                self._open()
            self.offsets: dict[TopicPartition, int] = self._stored()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            if not self._names():
                for statement in tables.TABLES.split(";"):
                    self._connection.execute(statement)
                rows = list(self._wanted.items())
                self._connection.executemany("INSERT INTO sink_meta VALUES (?, ?)", rows)
            self._check()
        self._connection.execute("PRAGMA journal_mode = WAL")

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_schema")}

    def _check(self) -> None:
        if "sink_meta" not in self._names():
            raise FileRefused(f"{self.path} is another program's database")
        found = dict(self._connection.execute("SELECT name, value FROM sink_meta"))
        for name, value in self._wanted.items():
            if found.get(name) != value:
                raise FileRefused(f"{self.path} is of {name} {found.get(name)!r}, not {value!r}")

    def _stored(self) -> dict[TopicPartition, int]:
        rows = self._connection.execute('SELECT topic, "partition", next_offset FROM sink_offsets')
        return {TopicPartition(topic, number): offset for topic, number, offset in rows}

    def write(self, changes: Sequence[Change], offsets: Offsets) -> None:
        """One batch: all of it or nothing.  offsets: the next of each partition that moved."""
        with self._failures(), self._transaction():
            if self._stored() != self.offsets:
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
    def _failures(self) -> Iterator[None]:
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
