"""RocksDB, as the engine uses it: bytes to bytes, atomic batches, ordered scans.

The log is the source of truth and this store follows it, so there is no write-ahead log: after a
kill the rows since the last flush are read from the changelog again.  All rows are in one column
family, because families flush separately and a position could then outlive its rows.
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

_WRITE_BUFFER_BYTES = 8 << 20
_FILE_BYTES = 8 << 20
_CACHE = Cache(1 << 20)  # created small, or its shards are too small for a large block
_CACHE.set_capacity(64 << 20)
_WRITE_BUFFERS = WriteBufferManager(1 << 40, False)
"""Shared by all stores of the process.  The manager only counts: each store limits its own
buffers, and a common limit would make the busy stores flush for the idle ones."""
_NO_SUCH_KEY = "key not found"
"""The text of the plain Exception that rocksdict raises when a snapshot has no such row."""

Failed = Callable[[str, Exception], StoreFailed]


class MemoryUse(NamedTuple):
    """The memory of all stores of this process in bytes, by use."""

    write_buffers: int
    block_cache: int


def memory_use() -> MemoryUse:
    """Return the memory use of all stores.  Any thread may call it."""
    return MemoryUse(_WRITE_BUFFERS.get_usage(), _CACHE.get_usage())


def limit_block_cache(size: int) -> None:
    """Set the bytes of blocks that all stores of this process, present and future, cache."""
    _CACHE.set_capacity(size)


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_write_buffer_manager(_WRITE_BUFFERS)
    # Compaction buffers the file that it writes in memory, with its index and filter.
    options.set_target_file_size_base(_FILE_BYTES)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    options.set_compression_type(DBCompressionType.lz4())
    table = BlockBasedOptions()
    table.set_block_cache(_CACHE)
    table.set_bloom_filter(10, False)
    table.set_cache_index_and_filter_blocks(True)  # else they grow with the rows without limit
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options.set_block_based_table_factory(table)
    return options


class Store:
    """One RocksDB directory.  Raises errors.StoreFailed when RocksDB does.

    Opening raises errors.StateLocked when it is open elsewhere, or its snapshots are still read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            options = _options()
            # For the column family too: else it keeps its last options, without the cache.
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
            values: Any = self._db.get(list(keys))
        except Exception as exc:
            raise self._wrap_error("read", exc) from exc
        return cast(list[bytes | None], values)

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def write(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Put (bytes) and delete (None) all rows atomically."""
        batch = WriteBatch(raw_mode=True)
        for key, value in rows.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            self._db.write(batch, self._no_wal)
        except Exception as exc:
            raise self._wrap_error("written", exc) from exc

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over rows whose key begins with `prefix`, in key order or in reverse.

        `start` is inclusive: the first row is the one at or after it (in reverse: at or before it).
        """
        return _scan(self._db.iter(), prefix, start, reverse, self._wrap_error)

    def snapshot(self) -> Snapshot:
        """Return a snapshot, which any thread may read, even when the store is closed."""
        try:
            return Snapshot(self._db, self._wrap_error)
        except Exception as exc:
            raise self._wrap_error("read", exc) from exc

    def damage(self) -> str | None:
        """Return what is wrong with the files of an open store; RocksDB itself notices late."""
        try:
            if (self.path / "LOCK").stat().st_ino != self._inode:
                return f"{self.path} is another directory than the one that was opened"
            suspects = {name for name, size in self._files() if _size(self.path / name) != size}
            # Compaction may have removed a file since it was listed, so list again.
            still = sorted(suspects & {name for name, _ in self._files()}) if suspects else []
        except Exception as exc:
            return f"{self.path} cannot be read: {exc}"
        return f"{self.path / still[0]} was changed or deleted" if still else None

    def _files(self) -> list[tuple[str, int]]:
        """List the names and sizes of the files that hold the rows now."""
        return [(file["name"].lstrip("/"), file["size"]) for file in self._db.live_files()]

    def size_bytes(self) -> int:
        """Return the approximate size of the files and of the rows not yet written to them."""
        kinds = ("rocksdb.total-sst-files-size", "rocksdb.cur-size-all-mem-tables")
        return sum(self._db.property_int_value(kind) or 0 for kind in kinds)

    def flush(self) -> None:
        self._db.flush()

    def close(self) -> None:
        """Flush and close.  A corrupt store is removed, and rebuilt when it is opened again."""
        try:
            self._db.close()
        except Exception as exc:
            raise self._wrap_error("closed", exc) from exc
        finally:
            if self._corrupt:
                self.destroy(self.path)

    def _wrap_error(self, what: str, exc: Exception) -> StoreFailed:
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

    rocksdict's snapshots support only `get`: iterators made from them see later writes.
    So there is one iterator, as old as the snapshot, which all scans share in turn.
    """

    def __init__(self, db: Any, failed: Failed) -> None:
        self._wrap_error = failed
        self._current_scan: object = None
        sequence = -1
        while sequence != db.latest_sequence_number():  # retry if a write came in between
            sequence = db.latest_sequence_number()
            self._rows, self._cursor = db.snapshot(), db.iter()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._get(key) for key in keys]

    def _get(self, key: bytes) -> bytes | None:
        try:
            return cast(bytes, self._rows[key])
        except Exception as exc:
            if str(exc) == _NO_SUCH_KEY:
                return None
            raise self._wrap_error("read", exc) from exc

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterate like `Store.scan`; one thread must read all concurrent scans."""
        scan_id = self._current_scan = object()
        for row in _scan(self._cursor, prefix, start, reverse, self._wrap_error):
            yield row
            if self._current_scan is not scan_id:
                self._current_scan = scan_id
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
        rows.status()  # an iterator just ends at a corrupt block
    except Exception as exc:
        del rows  # it locks the store, and the error's traceback would keep it alive
        raise failed("read", exc) from exc


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


class DirectoryLock:
    """A lock that keeps a state directory to one process.  Raises errors.StateLocked."""

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
