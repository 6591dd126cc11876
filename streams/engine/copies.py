"""Read-only copies of whole tables: one per worker, shared by its tasks.

A copy follows the table's topic (read_committed) into a RocksDB of its own.  It is caught up once
before tasks open, and then is as fresh as it has read: a verdict that uses a row records the
figures it saw.  A table that is `fresh` is caught up again before each cycle that may ask it.

Of a table that a processor owns, that is up to what is written, committed or not: the markers of
one transaction come to its partitions one by one, so a verdict may be readable before the row is.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from streams.engine.log import Log, Pace, Reader
from streams.engine.processor import AvroValue, Made
from streams.engine.records import Record, TopicPartition
from streams.engine.rows import Bytes, row_of, store_key
from streams.engine.store import Store
from streams.errors import BrokerUnavailable, InternalUnreadable, StoreFailed
from streams.telemetry.progress import reading
from topology.declarations import ProcessorDeclaration, Table
from topology.keys import partition_of, split

log = logging.getLogger(__name__)

_META = b"\0meta"
_POLL_S = 0.05
_PAUSE_S = 1.0
_FRESH_S = 10.0
_SIZE_S = 5.0
_COMMIT_S = 1.0
"""How long a transaction is waited for; that of a worker that died takes longer to be ended."""


def copied(processors: Iterable[ProcessorDeclaration]) -> list[Table]:
    """The tables of which these processors want copies, each once."""
    return list(dict.fromkeys(table for p in processors for table in p.copies))


class Copies:
    """path: a directory of the copies' own.  size_bytes: of the rows, as last measured."""

    def __init__(
        self, path: Path, source: Log, prefix: str, partitions: int, tables: Iterable[Table]
    ) -> None:
        self._path = path
        self._log = source
        self._partitions = partitions
        tables = list(dict.fromkeys(tables))
        self._tables = {prefix + t.topic.name: t for t in tables if t.topic}
        self._tps = [TopicPartition(n, p) for n in self._tables for p in range(partitions)]
        self._reader: Reader | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._moved = threading.Condition()
        self._changed: dict[str, dict[str, None]] = {t.name: {} for t in tables if t.fresh}
        self._broken: StoreFailed | None = None
        self._indexes: dict[str, Any] = {}
        self._indexed: dict[str, list[int]] = {}
        self.size_bytes = 0
        self._sized_at = 0.0

    def open(self) -> None:
        """Open or rebuild the store, and read to the ends that the topics have now."""
        if not self._tps:
            return
        self._identity_now = self._identity()
        self._store, self._positions = self._open_store(self._identity_now)
        try:
            self._read_in()
        except StoreFailed as exc:  # a bad block, which is met when it is read
            self._built_anew(exc)
            self._discard()
            self._store, self._positions = Store(self._path), dict(self._log.starts(self._tps))
            self._read_in()
        self._measure()

    def _read_in(self) -> None:
        ends = self._log.ends(self._tps)
        self._reader = self._log.reader(self._positions, Pace.LIVE)
        for name in self._changed:
            prefix = store_key(name, "")
            for place, _ in self._store.scan(prefix):
                self._changed[name][place.removeprefix(prefix).decode()] = None
        with reading("read copied tables", self._positions, ends) as told:
            while any(self._reader.position(tp) < end for tp, end in ends.items()):
                self.poll(_POLL_S)
                told(self._reader.position)

    def _built_anew(self, why: StoreFailed) -> None:
        log.warning("the copies at %s are built anew: %s", self._path, why)

    def _discard(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        with suppress(StoreFailed):
            self._store.close()
        Store.destroy(self._path)

    def _identity(self) -> dict[str, str]:
        return {"": self._log.cluster_id(), **self._log.topic_ids(self._tables)}

    def _open_store(self, identity: dict[str, str]) -> tuple[Store, dict[TopicPartition, int]]:
        starts = self._log.starts(self._tps)
        try:
            store = Store(self._path)
            meta = orjson.loads(store.get(_META) or b"{}")
        except StoreFailed as exc:
            self._built_anew(exc)
            meta = {}
        else:
            if meta.get("identity") == identity:
                kept = {tp: meta["positions"][f"{tp.topic}/{tp.partition}"] for tp in self._tps}
                if all(starts[tp] <= kept[tp] for tp in self._tps):
                    return store, kept
            store.close()
        Store.destroy(self._path)
        return Store(self._path), dict(starts)

    def follow(self) -> None:
        """Go on reading in a thread of its own until `close`."""
        if self._tps:
            self._thread = threading.Thread(target=self._follow, name="copies", daemon=True)
            self._thread.start()

    def _follow(self) -> None:
        failed = False
        while not self._stopping.is_set():
            try:
                if failed:
                    self._read_anew()
                self.poll(_POLL_S)
                failed, self._broken = False, None
            except Exception as exc:  # whatever it is, the tasks rest on this thread
                log.warning("copies of tables are not read on: %r", exc)
                failed, self._broken = True, exc if isinstance(exc, StoreFailed) else None
                self._stopping.wait(_PAUSE_S)

    def _read_anew(self) -> None:
        """From what is applied: the former reader may have passed records that were not."""
        former, self._reader = self._reader, self._log.reader(self._positions, Pace.LIVE)
        if former is not None:
            former.close()

    def poll(self, timeout_s: float) -> None:
        """Apply what has come."""
        if self._reader is None:
            return
        records = self._reader.poll(timeout_s)
        moved = {tp: self._reader.position(tp) for tp in self._tps}
        if records or moved != self._positions:
            with self._moved:
                self._apply(records, moved)
                self._positions = moved
                self._moved.notify_all()
            if time.monotonic() - self._sized_at > _SIZE_S:
                self._measure()

    def _apply(self, records: Sequence[Record], positions: dict[TopicPartition, int]) -> None:
        rows: Bytes = {}
        for record in records:
            table, key = self._tables[record.topic], _text(record.key)
            if key is None or (_is_given(table) and self._misplaced(record)):
                continue
            if table.copied_parts is None or len(split(key)) == table.copied_parts:
                rows[store_key(table.name, key)] = record.value
                if table.fresh:
                    self._changed[table.name][key] = None
        named = {f"{tp.topic}/{tp.partition}": n for tp, n in positions.items()}
        meta = {"identity": self._identity_now, "positions": named}
        self._store.write({**rows, _META: orjson.dumps(meta)})

    def _misplaced(self, record: Record) -> bool:
        """On another partition than its key's, where it has no order among those of its key."""
        return partition_of(record.key or b"", self._partitions) != record.partition

    def freshen(self, tables: Collection[Table]) -> None:
        """Wait until these tables are read to the ends that their topics have now.

        Raises BrokerUnavailable when that takes too long, StoreFailed when what is read cannot be
        written.
        """
        asked = [tp for tp in self._tps if self._tables[tp.topic] in tables]
        owned = [tp for tp in asked if not _is_given(self._tables[tp.topic])]
        given = [tp for tp in asked if tp not in owned]
        ends = self._log.ends(given) if given else {}
        written = self._log.high_watermarks(owned) if owned else {}
        if self._reached({**ends, **written}, _COMMIT_S if owned else _FRESH_S):
            return
        ends |= self._log.ends(owned) if owned else {}
        if not self._reached(ends, _FRESH_S):
            if self._broken is not None:
                raise StoreFailed(
                    f"copies of tables are not read on: {self._broken.message}",
                    advice="Check the disk; a worker that starts builds damaged copies anew.",
                )
            raise BrokerUnavailable(f"copies of tables are not read to their ends: {ends}")

    def _reached(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> bool:
        """Wait until everything below these offsets is read, or the copies are closed."""

        def read() -> bool:
            return all(self._positions[tp] >= end for tp, end in ends.items())

        with self._moved:
            return self._moved.wait_for(lambda: read() or self._stopping.is_set(), timeout_s)

    def get(self, table: Table, key: str) -> AvroValue | None:
        """The row as far as read, or None.  Raises InternalUnreadable."""
        return _row(table, key, self._store.get(store_key(table.name, key)))

    def index(self, table: Table, make: Callable[[], Made]) -> Made:
        """What is derived from a `fresh` table, as far as read.  For one thread at a time."""
        index: Made = self._indexes.setdefault(table.name, make())
        with self._moved:
            self._indexed[table.name] = self._read_to(table)
            keys, self._changed[table.name] = self._changed[table.name], {}
            found = self._store.get_many([store_key(table.name, key) for key in keys])
        for key, raw in zip(keys, found, strict=True):
            index.update(key, _row(table, key, raw))
        return index

    def indexed(self, table: Table) -> list[int]:
        """The next offset of each partition of a `fresh` table, as its index was last given."""
        return list(self._indexed.get(table.name) or self._read_to(table))

    def _read_to(self, table: Table) -> list[int]:
        return [self._positions[tp] for tp in self._tps if self._tables[tp.topic] is table]

    def _measure(self) -> None:
        self.size_bytes, self._sized_at = self._store.size_bytes(), time.monotonic()

    def close(self) -> None:
        if self._reader is None:
            return
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._reader.close()
        self._reader = None
        self._store.close()


def _is_given(table: Table) -> bool:
    """Its rows are what clients wrote."""
    return table.topic is not None and table.topic.keeps_latest


def _text(key: bytes | None) -> str | None:
    """None for a key that is no text; clients may have written it."""
    try:
        return (key or b"").decode()
    except UnicodeDecodeError:
        return None


def _row(table: Table, key: str, raw: bytes | None) -> AvroValue | None:
    """None too for what clients wrote and nobody can read.  Raises InternalUnreadable."""
    try:
        return None if raw is None else row_of(table, key, raw)
    except InternalUnreadable:
        if _is_given(table):
            return None
        raise


class CopiedTable:
    """One copied table as a processor sees it (the `Copy` of `Work`)."""

    def __init__(self, copies: Copies, table: Table) -> None:
        self._copies = copies
        self._table = table

    def get(self, key: str) -> AvroValue | None:
        return self._copies.get(self._table, key)

    def index(self, make: Callable[[], Made]) -> Made:
        return self._copies.index(self._table, make)

    def indexed(self) -> list[int]:
        return self._copies.indexed(self._table)
