"""Read-only replicas of whole tables: one per worker, shared by its tasks (global tables).

A replica reads the table's topic (read_committed) into its own RocksDB.  It is caught up once
before tasks open; afterwards it may lag, so a verdict that uses a row records the values it saw.
A table declared `fresh` is caught up again before each cycle that may read it.

Tables written by our own processors are read to the high watermark, not to the last stable
offset: commit markers reach partitions one by one, so a verdict can become visible before its row.
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

from streams.engine.copied_rows import decode_key, decode_row, fact_row, is_client_written
from streams.engine.copy_limits import CopyLimit, LimitStatus
from streams.engine.log import Log, Pace, Reader
from streams.engine.mac_checks import MacChecks, Serials, dump_serials, load_serials
from streams.engine.processor import AvroValue, Made
from streams.engine.records import Record, TopicPartition
from streams.engine.refusal_marks import RefusalMarks, accepted_records
from streams.engine.refused_rows import count_refused, is_written_once, standing_rows
from streams.engine.rows import Bytes, store_key
from streams.engine.stall import StallCheck
from streams.engine.store import Store
from streams.errors import BrokerUnavailable, RestoreStalled, StoreFailed
from streams.settings.service import PREFIX, ServiceSettings
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
"""How long to wait for open transactions; that of a dead worker takes longer to abort."""


def replicated_tables(
    processors: Iterable[ProcessorDeclaration], settings: Mapping[str, Any]
) -> list[Table]:
    """Return the tables that these processors replicate, each once.

    settings: as processors see them.
    """
    tables = dict.fromkeys(table for p in processors for table in p.global_tables)
    return [t for t in tables if t.replicated_if is None or settings[t.replicated_if]]


def replicate(
    path: Path, source: Log, settings: ServiceSettings, processors: Iterable[ProcessorDeclaration]
) -> GlobalTables:
    """Return the replicas of the tables that these processors replicate, not yet open."""
    tables = replicated_tables(processors, settings.as_work())
    names = {table.limited_by for table in tables if table.limited_by is not None}
    limits = {name: getattr(settings, name.lower()) for name in sorted(names)}
    checks = MacChecks.of(settings, [table.topic for table in tables if table.topic])
    return GlobalTables(path, source, settings.prefix, settings.partitions, tables, limits, checks)


class GlobalTables:
    """The replicas of one worker, in one RocksDB at `path`.

    limits: the most bytes of the rows of some tables, by the name that they are `limited_by`.
    size_bytes: the size of the rows, as last measured.
    """

    def __init__(
        self,
        path: Path,
        source: Log,
        prefix: str,
        partitions: int,
        tables: Iterable[Table],
        limits: Mapping[str, int] | None = None,
        checks: MacChecks | None = None,
    ) -> None:
        self._path = path
        self._log = source
        self._partitions = partitions
        tables = list(dict.fromkeys(tables))
        self._tables = {prefix + t.topic.name: t for t in tables if t.topic}
        self._by_name = {table.name.encode(): table for table in tables}
        self._tps = [TopicPartition(n, p) for n in self._tables for p in range(partitions)]
        self._checks, self._marks = checks, RefusalMarks(tables)
        self._serials: Serials = {}
        self._reader: Reader | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._progress = threading.Condition()
        self._changed_keys: dict[str, dict[str, None]] = {t.name: {} for t in tables if t.caught_up}
        self._failure: StoreFailed | None = None
        self._indexes: dict[str, Any] = {}
        self._index_positions: dict[str, list[int]] = {}
        self._limits = [
            CopyLimit(PREFIX + name, size, [table for table in tables if table.limited_by == name])
            for name, size in (limits or {}).items()
        ]
        self.size_bytes = 0
        self._measured_at = 0.0

    def open(self) -> None:
        """Open or rebuild the store, and read to the current ends of the topics."""
        if not self._tps:
            return
        self._current_identity = self._identity()
        self._store, self._positions = self._open_store(self._current_identity)
        try:
            self._catch_up()
        except (StoreFailed, RestoreStalled) as exc:  # a corrupt block shows when it is read
            self._warn_rebuild(exc)
            self._discard()
            self._store, self._positions = Store(self._path), dict(self._log.starts(self._tps))
            self._serials = {}
            self._catch_up()
        self._measure()

    def _catch_up(self) -> None:
        ends = self._log.ends(self._tps)
        self._marks.open(self._store)
        self._reader = self._log.reader(self._positions, Pace.LIVE)
        self._load_limits()
        for name in self._changed_keys:
            prefix = store_key(name, "")
            for row_key, _ in self._store.scan(prefix):
                self._changed_keys[name][row_key.removeprefix(prefix).decode()] = None
        with reading("read copied tables", self._positions, ends) as report:
            stall = StallCheck(self._log, ends)
            while any(self._reader.position(tp) < end for tp, end in ends.items()):
                self.poll(_POLL_S)
                stall.check(self._reader.position)
                report(self._reader.position)
        self._marks.end_restore()

    def _load_limits(self) -> None:
        for limit in self._limits:
            self._store.write(limit.load(self._store))

    def _warn_rebuild(self, why: StoreFailed | RestoreStalled) -> None:
        log.warning("the copies at %s are built anew: %s", self._path, why)

    def _discard(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        with suppress(StoreFailed):
            self._store.close()
        Store.destroy(self._path)

    def _identity(self) -> dict[str, str]:
        identity = {"": self._log.cluster_id(), **self._log.topic_ids(self._tables)}
        return identity if self._checks is None else {**identity, "macs": str(self._checks.since)}

    def _open_store(self, identity: dict[str, str]) -> tuple[Store, dict[TopicPartition, int]]:
        starts = self._log.starts(self._tps)
        try:
            store = Store(self._path)
            meta = orjson.loads(store.get(_META) or b"{}")
        except StoreFailed as exc:
            self._warn_rebuild(exc)
            meta = {}
        else:
            if meta.get("identity") == identity:
                positions = {
                    tp: meta["positions"][f"{tp.topic}/{tp.partition}"] for tp in self._tps
                }
                if all(starts[tp] <= positions[tp] for tp in self._tps):
                    self._serials = load_serials(meta.get("serials", {}))
                    return store, positions
            store.close()
        Store.destroy(self._path)
        return Store(self._path), dict(starts)

    def follow(self) -> None:
        """Keep reading in a separate thread until `close`."""
        if self._tps:
            self._thread = threading.Thread(target=self._follow, name="copies", daemon=True)
            self._thread.start()

    def _follow(self) -> None:
        failed = False
        while not self._stopping.is_set():
            try:
                if failed:
                    self._reopen_reader()
                self.poll(_POLL_S)
                failed, self._failure = False, None
            except Exception as exc:  # any error: the tasks depend on this thread
                log.warning("copies of tables are not read on: %r", exc)
                failed, self._failure = True, exc if isinstance(exc, StoreFailed) else None
                self._stopping.wait(_PAUSE_S)

    def _reopen_reader(self) -> None:
        """Read again from the applied positions.

        The former reader may have passed records, and a limit counted some, that were not applied.
        """
        self._load_limits()
        former, self._reader = self._reader, self._log.reader(self._positions, Pace.LIVE)
        if former is not None:
            former.close()

    def poll(self, timeout_s: float) -> None:
        """Read and apply new records."""
        if self._reader is None:
            return
        records = self._reader.poll(timeout_s)
        positions = {tp: self._reader.position(tp) for tp in self._tps}
        if records or positions != self._positions:
            with self._progress:
                self._apply(records, positions)
                self._positions = positions
                self._progress.notify_all()
            if time.monotonic() - self._measured_at > _SIZE_S:
                self._measure()

    def _apply(self, records: Sequence[Record], positions: dict[TopicPartition, int]) -> None:
        serials = {tp: dict(last) for tp, last in self._serials.items()}
        accepted, refused = accepted_records(self._checks, records, serials)
        keyed: list[tuple[bytes, Record]] = []
        for record in accepted:
            table, key = self._tables[record.topic], decode_key(record.key)
            if table.fact_key_of is not None:
                key, record = fact_row(table, record)
            if key is None or (is_client_written(table) and self._is_on_wrong_partition(record)):
                continue
            if table.copied_parts is None or len(split(key)) == table.copied_parts:
                keyed.append((store_key(table.name, key), record))
                if table.caught_up:
                    self._changed_keys[table.name][key] = None
        rows, later = standing_rows(keyed, self._is_written_once, self._store.get_many)
        count_refused(later)
        marks: Bytes = {}
        if refused:
            marks = self._marks.made(rows, self._keyed_rows(refused), self._store.get_many)
        for limit in self._limits:
            rows.update(limit.apply(rows, self._store))
        if self._marks.any:
            rows = self._marks.cleared(rows) | marks
        offsets = {f"{tp.topic}/{tp.partition}": n for tp, n in positions.items()}
        meta: dict[str, Any] = {"identity": self._current_identity, "positions": offsets}
        if serials:
            meta["serials"] = dump_serials(serials)
        self._store.write({**rows, _META: orjson.dumps(meta)})
        self._serials = serials

    def _keyed_rows(self, records: Sequence[Record]) -> list[tuple[bytes, Record]]:
        """Return refused rows of tables with the keys that they would have."""
        return [
            (store_key(table.name, key), record)
            for record in records
            if (table := self._tables[record.topic]).fact_key_of is None
            and (key := decode_key(record.key)) is not None
        ]

    def _is_written_once(self, key: bytes) -> bool:
        name, _, row_key = key.partition(b"\0")
        return is_written_once(self._by_name[name], row_key)

    def _is_on_wrong_partition(self, record: Record) -> bool:
        """Check whether the record is not on its key's partition, so that it has no order."""
        return partition_of(record.key or b"", self._partitions) != record.partition

    def catch_up(self, tables: Collection[Table]) -> None:
        """Wait until these tables are read to the current ends of their topics.

        Raises BrokerUnavailable when that takes too long, StoreFailed when rows cannot be written.
        """
        tps = [tp for tp in self._tps if self._tables[tp.topic] in tables]
        internal = [tp for tp in tps if not is_client_written(self._tables[tp.topic])]
        external = [tp for tp in tps if tp not in internal]
        ends = self._log.ends(external) if external else {}
        written = self._log.high_watermarks(internal) if internal else {}
        if self._wait_until_read({**ends, **written}, _COMMIT_S if internal else _FRESH_S):
            return
        ends |= self._log.ends(internal) if internal else {}
        if not self._wait_until_read(ends, _FRESH_S):
            if self._failure is not None:
                raise StoreFailed(
                    f"copies of tables are not read on: {self._failure.message}",
                    advice="Check the disk; a worker that starts builds damaged copies anew.",
                )
            raise BrokerUnavailable(f"copies of tables are not read to their ends: {ends}")

    def _wait_until_read(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> bool:
        """Wait until all records below these offsets are read, or the replicas are closed."""

        def read() -> bool:
            return all(self._positions[tp] >= end for tp, end in ends.items())

        with self._progress:
            return self._progress.wait_for(lambda: read() or self._stopping.is_set(), timeout_s)

    def get(self, table: Table, key: str) -> AvroValue | None:
        """Return the row as far as read, or None.  Raises InternalUnreadable, RowRefused."""
        row_key = store_key(table.name, key)
        if self._marks.any:
            self._marks.check([row_key], self._store.get_many)
        return decode_row(table, key, self._store.get(row_key))

    def index(self, table: Table, make: Callable[[], Made]) -> Made:
        """Return an index of a `fresh` table, updated as far as the table is read.

        Only one thread may call it at a time.
        """
        index: Made = self._indexes.setdefault(table.name, make())
        with self._progress:
            self._index_positions[table.name] = self._positions_of(table)
            keys, self._changed_keys[table.name] = self._changed_keys[table.name], {}
            raw_rows = self._store.get_many([store_key(table.name, key) for key in keys])
        for key, raw in zip(keys, raw_rows, strict=True):
            index.update(key, decode_row(table, key, raw))
        return index

    def index_positions(self, table: Table) -> list[int]:
        """Return the next offset of each partition of a `fresh` table as of the last `index`."""
        return list(self._index_positions.get(table.name) or self._positions_of(table))

    def _positions_of(self, table: Table) -> list[int]:
        return [self._positions[tp] for tp in self._tps if self._tables[tp.topic] is table]

    def limit_status(self) -> list[LimitStatus]:
        """Return the measurements of the limits.  Any thread may call it."""
        return [limit.status() for limit in self._limits]

    def _measure(self) -> None:
        self.size_bytes, self._measured_at = self._store.size_bytes(), time.monotonic()

    def close(self) -> None:
        if self._reader is None:
            return
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._reader.close()
        self._reader = None
        self._store.close()


class GlobalTableView:
    """One replicated table as a processor sees it (the `Copy` of `Work`)."""

    def __init__(self, copies: GlobalTables, table: Table) -> None:
        self._copies = copies
        self._table = table

    def get(self, key: str) -> AvroValue | None:
        return self._copies.get(self._table, key)

    def index(self, make: Callable[[], Made]) -> Made:
        return self._copies.index(self._table, make)

    def index_positions(self) -> list[int]:
        return self._copies.index_positions(self._table)
