"""RocksDB, as the engine uses it: bytes to bytes, atomic batches, ordered scans.

The log is the truth and this store follows it, so there is no write-ahead log: after a kill the
rows since the last flush are read from the changelog again.  Everything lies in one column
family, because families flush apart and a position could then outlive the rows it stands for.
The only module that imports rocksdict.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from streams.errors import StateLocked, StoreFailed

_WRITE_BUFFER = 8 << 20
_FILE = 8 << 20
_CACHE = Cache(1 << 20)  # made small, or it has shards of a size that holds no large block
_CACHE.set_capacity(64 << 20)
_BUFFERS = WriteBufferManager(1 << 40, False)
"""Shared by all stores of the process.  The manager only counts: a store's buffers have a limit of
their own, and one for all of them would have the busy stores flush for the idle ones."""
_NO_SUCH_KEY = "key not found"
"""What rocksdict raises, as a plain Exception, where a snapshot has no such row."""

Failed = Callable[[str, Exception], StoreFailed]


class Held(NamedTuple):
    """Bytes of memory that all stores of this process hold, by what for."""

    write_buffers: int
    block_cache: int


def held() -> Held:
    """Any thread may ask."""
    return Held(_BUFFERS.get_usage(), _CACHE.get_usage())


def limit_block_cache(size: int) -> None:
    """How many bytes of blocks the stores of this process, open and to come, keep in memory."""
    _CACHE.set_capacity(size)


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(_WRITE_BUFFER)
    options.set_max_write_buffer_number(2)
    options.set_write_buffer_manager(_BUFFERS)
    # Compaction holds a file that it writes in memory, with what becomes its index and filter.
    options.set_target_file_size_base(_FILE)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    options.set_compression_type(DBCompressionType.lz4())
    table = BlockBasedOptions()
    table.set_block_cache(_CACHE)
    table.set_bloom_filter(10, False)
    table.set_cache_index_and_filter_blocks(True)  # else they grow with the rows, without a limit
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options.set_block_based_table_factory(table)
    return options


class Store:
    """One RocksDB directory.  Raises errors.StoreFailed when RocksDB does.

    Opening raises errors.StateLocked when it is open elsewhere, or snapshots of it are still read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            options = _options()
            # For the family too: else it has the ones that it was last opened with, and no cache.
            self._db = Rdict(str(path), options, {"default": options})
            self._inode = (path / "LOCK").stat().st_ino
        except Exception as exc:  # rocksdict raises plain Exception
            if f"{path}/LOCK" in str(exc):
                raise StateLocked(f"RocksDB at {path} is in use") from exc
            raise StoreFailed(f"RocksDB at {path} does not open: {exc}") from exc
        self._corrupt = False
        no_wal: Any = WriteOptions()
        no_wal.disable_wal = True
        self._no_wal = no_wal

    @staticmethod
    def destroy(path: Path) -> None:
        """Remove a closed store; it is rebuilt from the log."""
        shutil.rmtree(path, ignore_errors=True)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            found: Any = self._db.get(list(keys))
        except Exception as exc:
            raise self._failed("read", exc) from exc
        return cast(list[bytes | None], found)

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def write(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Put (bytes) and delete (None) all rows at once."""
        batch = WriteBatch(raw_mode=True)
        for key, value in rows.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            self._db.write(batch, self._no_wal)
        except Exception as exc:
            raise self._failed("written", exc) from exc

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows whose key begins with prefix, in key order (or against it), from `start` on.

        start counts: the first row is the one at or after it (in reverse: at or before it).
        """
        return _scan(self._db.iter(), prefix, start, reverse, self._failed)

    def snapshot(self) -> Snapshot:
        """The rows as they are now; any thread may read it, even when the store is closed."""
        try:
            return Snapshot(self._db, self._failed)
        except Exception as exc:
            raise self._failed("read", exc) from exc

    def damage(self) -> str | None:
        """What is amiss with the files of an open store; RocksDB itself notices only late."""
        try:
            if (self.path / "LOCK").stat().st_ino != self._inode:
                return f"{self.path} is another directory than the one that was opened"
            changed = {name for name, size in self._files() if _size(self.path / name) != size}
            # Compaction may have removed a file since it was listed; then it is listed no more.
            still = sorted(changed & {name for name, _ in self._files()}) if changed else []
        except Exception as exc:
            return f"{self.path} cannot be read: {exc}"
        return f"{self.path / still[0]} was changed or deleted" if still else None

    def _files(self) -> list[tuple[str, int]]:
        """Names and sizes of the files that hold the rows now."""
        return [(file["name"].lstrip("/"), file["size"]) for file in self._db.live_files()]

    def size_bytes(self) -> int:
        """Of the files and of what is not yet written to them, about."""
        kinds = ("rocksdb.total-sst-files-size", "rocksdb.cur-size-all-mem-tables")
        return sum(self._db.property_int_value(kind) or 0 for kind in kinds)

    def flush(self) -> None:
        self._db.flush()

    def close(self) -> None:
        """Flush and close.  A store found corrupt is removed, to be rebuilt when opened again."""
        try:
            self._db.close()
        except Exception as exc:
            raise self._failed("closed", exc) from exc
        finally:
            if self._corrupt:
                self.destroy(self.path)

    def _failed(self, what: str, exc: Exception) -> StoreFailed:
        self._corrupt = self._corrupt or "Corruption" in str(exc)
        return StoreFailed(f"RocksDB at {self.path} cannot be {what}: {exc}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class Snapshot:
    """The rows of a store at one moment.  Raises errors.StoreFailed when RocksDB does.

    rocksdict's snapshots answer `get` alone: iterators made from them see what is written later.
    So there is one iterator, as old as the snapshot, which all scans take turns to move.
    """

    def __init__(self, db: Any, failed: Failed) -> None:
        self._failed = failed
        self._turn: object = None
        moment = -1
        while moment != db.latest_sequence_number():  # else a write came in between
            moment = db.latest_sequence_number()
            self._rows, self._cursor = db.snapshot(), db.iter()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._get(key) for key in keys]

    def _get(self, key: bytes) -> bytes | None:
        try:
            return cast(bytes, self._rows[key])
        except Exception as exc:
            if str(exc) == _NO_SUCH_KEY:
                return None
            raise self._failed("read", exc) from exc

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """As `Store.scan`; several at a time must be read by one thread."""
        mine = self._turn = object()
        for row in _scan(self._cursor, prefix, start, reverse, self._failed):
            yield row
            if self._turn is not mine:
                self._turn = mine
                self._cursor.seek(row[0])


def _scan(
    rows: Any, prefix: bytes, start: bytes | None, reverse: bool, failed: Failed
) -> Iterator[tuple[bytes, bytes]]:
    if reverse:
        rows.seek_for_prev(start if start is not None else prefix + b"\xff" * 8)
    else:
        rows.seek(start if start is not None else prefix)
    while rows.valid():
        key = rows.key()
        if not key.startswith(prefix):
            return
        yield key, rows.value()
        if reverse:
            rows.prev()
        else:
            rows.next()
    try:
        rows.status()  # an iterator that meets a bad block just ends
    except Exception as exc:
        del rows  # it keeps the store locked, and whoever keeps the error would keep it
        raise failed("read", exc) from exc


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


class DirectoryLock:
    """Keeps a state directory to one process.  Raises errors.StateLocked when it is taken."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._file = (directory / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            self._file.seek(0)
            owner = self._file.read().strip() or "another process"
            self._file.close()
            raise StateLocked(
                f"{directory} is in use by {owner}; give this process a directory of its own"
                " with HEADRACE_STATE_DIR"
            ) from exc
        self._file.truncate(0)
        self._file.write(f"pid {os.getpid()}")
        self._file.flush()

    def release(self) -> None:
        self._file.close()
