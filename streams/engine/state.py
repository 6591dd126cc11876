"""The tables of one task in RocksDB, and the changelog positions that they reflect.

The store is a cache of the changelog.  It is deleted and rebuilt when a changelog topic or the
cluster is another one (a recreated topic passes every offset check), when its row format is
older, when its position is outside of the log, when it lags by longer than tombstones
are kept, and when it does not open.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from schemas import Undecodable, decode
from streams.engine.log import Log, Reader
from streams.engine.mac_checks import MacChecks, Serials
from streams.engine.mac_errors import PositionsRefused
from streams.engine.processor import Timer
from streams.engine.records import Record, TopicPartition
from streams.engine.refusal_marks import RefusalMarks, accepted_records
from streams.engine.refused_rows import (
    RowRefused,
    count_refused,
    is_written_once,
    standing_rows,
)
from streams.engine.rows import Bytes
from streams.engine.stall import StallCheck
from streams.engine.store import Store
from streams.engine.work import due_ms, timer_of
from streams.errors import InternalUnreadable, StoreFailed
from streams.log.reading import records
from streams.telemetry.progress import reading
from topology.core import ACCEPTED_GAPS, CHANGELOG, TIMERS
from topology.declarations import Table
from topology.retention import DELETE_RETENTION_MS

log = logging.getLogger(__name__)

ROW_FORMAT = 1
_META = b"\0meta"
_SKEW_MS = 60_000
_GAPS = ACCEPTED_GAPS.name.encode() + b"\0"
_TIMERS = TIMERS.name.encode() + b"\0"


class State:
    """The rows and timers of one task."""

    def __init__(
        self,
        path: Path,
        source: Log,
        prefix: str,
        partition: int,
        tables: Iterable[Table],
        checks: MacChecks | None = None,
    ) -> None:
        tables = tuple(tables)
        self._path = path
        self._log = source
        self._row_prefix = {
            prefix + t.topic.name: t.name.encode() + b"\0" for t in tables if t.topic
        }
        self._row_prefix[prefix + CHANGELOG.name] = b""
        self._written_once = {t.name.encode(): t for t in tables if t.written_once is not None}
        self._checks, self._marks = checks, RefusalMarks(tables)
        self._serials: Serials = {}
        self._partition = partition
        self._tps = [TopicPartition(name, partition) for name in self._row_prefix]
        self._ids: dict[str, str] = {}
        self._cluster = ""
        self.positions: dict[str, int] = {}
        self.next_due: int | None = None
        self._floor = 0
        self._at_end = 0
        self._opened: Store | None = None

    @property
    def _store(self) -> Store:
        assert self._opened is not None, "the state is not open"
        return self._opened

    def open(self, now_ms: int, stopping: threading.Event | None = None) -> int:
        """Open or rebuild the store, then apply the changelog to its end; return the count read."""
        self._cluster = self._log.cluster_id()
        self._serials = {}
        self._ids = self._log.topic_ids({tp.topic for tp in self._tps})
        ends = self._log.ends(self._tps)
        self._opened = self._open_store(ends, now_ms)
        self._marks.open(self._opened)
        read = self._restore(ends, stopping, now_ms)
        self._find_due()
        return read

    def _open_store(self, ends: Mapping[TopicPartition, int], now_ms: int) -> Store:
        store: Store | None = None
        try:
            store = Store(self._path)
            why = self._find_rebuild_reason(store.get(_META), ends, now_ms)
        except StoreFailed as exc:
            why = str(exc)
        if why is None and store is not None:
            return store
        if why:
            log.warning("store %s is rebuilt from its changelog: %s", self._path, why)
        if store is not None:
            store.close()
        Store.destroy(self._path)
        self.positions = self._log_starts()
        self._at_end = now_ms  # a tombstone outlives its row by the retention time
        return Store(self._path)

    def _find_rebuild_reason(
        self, raw: bytes | None, ends: Mapping[TopicPartition, int], now_ms: int
    ) -> str | None:
        """Return why the store cannot be used ("" for a new one).

        If it can, set the positions and return None.
        """
        if raw is None:
            return ""
        meta = orjson.loads(raw)
        if meta["format"] != ROW_FORMAT:
            return f"row format {meta['format']}, this version writes {ROW_FORMAT}"
        if meta["cluster"] != self._cluster:
            return "it belongs to another Kafka cluster"
        if self._checks is not None and not meta.get("macs"):
            return "its rows were read without a key for MACs"
        positions: dict[str, int] = meta["positions"]
        starts = self._log_starts()
        for tp in self._tps:
            name = tp.topic
            if name not in positions:
                positions[name] = starts[name]  # a table new to this state
            elif meta["ids"].get(name) != self._ids[name]:
                return f"topic {name} was created anew"
            elif not starts[name] <= positions[name] <= ends[tp]:
                return f"position {positions[name]} of {name} is outside of the log"
            elif positions[name] < ends[tp] and not _keeps_tombstones(meta["at_end"], now_ms):
                return f"{name} may have dropped tombstones that were never read"
        self.positions = positions
        self._serials = {
            TopicPartition(name, self._partition): {self._partition: serial}
            for name, serial in meta.get("serials", {}).items()
        }
        self._at_end = meta["at_end"]
        return None

    def _log_starts(self) -> dict[str, int]:
        return {tp.topic: start for tp, start in self._log.starts(self._tps).items()}

    def _restore(
        self, ends: Mapping[TopicPartition, int], stopping: threading.Event | None, now_ms: int
    ) -> int:
        """Read to `ends`, which were current at `now_ms`.  Records read before a stop are kept."""
        lagging = {tp for tp in self._tps if self.positions[tp.topic] < ends[tp]}
        starts = {tp: self.positions[tp.topic] for tp in lagging}
        count = 0
        if lagging:
            targets = {tp: ends[tp] for tp in lagging}
            with (
                reading(f"restore task {self._partition}", starts, targets) as report,
                self._log.reader(starts) as reader,
            ):
                stall = StallCheck(self._log, targets)
                while lagging and not (stopping and stopping.is_set()):
                    records = reader.poll(0.1)
                    stall.check(reader.position)
                    count += len(records)
                    self._apply_records(records, reader, lagging)
                    lagging = {tp for tp in lagging if reader.position(tp) < ends[tp]}
                    report(reader.position)
        self._marks.end_restore()
        if not lagging:
            self._at_end = now_ms
            self._write({})
        return count

    def _apply_records(
        self, records: Sequence[Record], reader: Reader, tps: set[TopicPartition]
    ) -> None:
        accepted, refused = accepted_records(self._checks, records, self._serials)
        stored = self._store.get_many
        rows, later = standing_rows(self._keyed(accepted), self._is_written_once, stored)
        count_refused(later)
        if refused:
            rows |= self._marks.made(rows, self._keyed(refused), stored)
        for tp in tps:
            self.positions[tp.topic] = reader.position(tp)
        self._write(rows)

    def _keyed(self, records: Sequence[Record]) -> list[tuple[bytes, Record]]:
        return [
            (self._row_prefix[record.topic] + record.key, record)
            for record in records
            if record.key is not None
        ]

    def _is_written_once(self, key: bytes) -> bool:
        name, _, row_key = key.partition(b"\0")
        table = self._written_once.get(name)
        return table is not None and is_written_once(table, row_key)

    def apply(
        self, rows: Bytes, ends: Mapping[TopicPartition, int], now_ms: int, serial: int = 0
    ) -> None:
        """Store the rows of a committed transaction with their changelog positions.

        serial: that of its last record; 0 without MACs.
        """
        for tp, end in ends.items():
            if tp.topic in self.positions:
                self.positions[tp.topic] = end
                if serial:
                    self._serials[tp] = {self._partition: serial}
        self._at_end = now_ms
        self._write(rows)
        timers = [key for key in rows if key.startswith(_TIMERS)]
        if timers:
            added = [_due_ms(key) for key in timers if rows[key] is not None]
            self._floor = min([self._floor, *added])
            self._find_due()

    def _write(self, rows: Bytes) -> None:
        meta = {
            "format": ROW_FORMAT,
            "cluster": self._cluster,
            "ids": self._ids,
            "positions": self.positions,
            "at_end": self._at_end,
        }
        if self._checks is not None:
            meta["macs"] = True
            serials = {tp.topic: last[self._partition] for tp, last in self._serials.items()}
            meta["serials"] = serials
        if self._marks.any:
            rows = self._marks.cleared(rows)
        self._store.write({**rows, _META: orjson.dumps(meta)})

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return rows.  Raises RowRefused for one of which only refused records are left."""
        if self._marks.any:
            self._marks.check(keys, self._store.get_many)
        return self._store.get_many(keys)

    def get_positions(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return rows without which the task cannot open.  Raises PositionsRefused."""
        try:
            return self.get_many(keys)
        except RowRefused as exc:
            raise PositionsRefused(f"task {self._partition}: {exc}") from exc

    def scan(self, table: str) -> Iterable[tuple[bytes, bytes]]:
        """Return the rows of one table, with keys that lack its name."""
        prefix = table.encode() + b"\0"
        return ((key[len(prefix) :], value) for key, value in self._store.scan(prefix))

    def empty(self) -> bool:
        """Check whether the task has never committed anything; rows of operators do not count."""
        rows = self._store.scan(b"", b"\1")
        return all(key.startswith(_GAPS) for key, _ in rows)

    def due(self, limit_ms: int, count: int) -> list[tuple[bytes, str, Timer]]:
        """Return (store key, processor, timer) of timers due at `limit_ms`, in firing order."""
        timers: list[tuple[bytes, str, Timer]] = []
        for key, value in self._timers():
            if len(timers) == count or _due_ms(key) > limit_ms:
                break
            try:
                data = decode(value, TIMERS.record).value["data"]
            except Undecodable as exc:
                raise InternalUnreadable(f"a timer: {exc.message}", row=key) from exc
            timers.append((key, *timer_of(key[len(_TIMERS) :].decode(), data)))
        return timers

    def _timers(self) -> Iterable[tuple[bytes, bytes]]:
        """Scan from the last due time on: all rows before it are tombstones."""
        return self._store.scan(_TIMERS, _TIMERS + b"%015d" % self._floor)

    def _find_due(self) -> None:
        first = next(iter(self._timers()), None)
        self.next_due = _due_ms(first[0]) if first else None
        if self.next_due is not None:
            self._floor = self.next_due

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Add the position on the changelog to an error about an unreadable row of this state."""
        try:
            yield
        except InternalUnreadable as exc:
            record = None if exc.row is None else self._last_record(exc.row)
            if record is None:
                raise
            at = record.topic, record.partition, record.offset
            raise InternalUnreadable.at(*at, exc.message) from exc

    def _last_record(self, row: bytes) -> Record | None:
        """Return the record that holds a row of the store; None if the log has none."""
        last = None
        for name, prefix in self._row_prefix.items():
            if row.startswith(prefix):
                tp, key = TopicPartition(name, self._partition), row[len(prefix) :]
                for record in records(self._log, [tp]):
                    last = record if record.key == key else last
        return last

    def size_bytes(self) -> int:
        """Return the approximate size of the rows, on disk and in memory."""
        return self._store.size_bytes()

    def close(self) -> None:
        """Flush and close."""
        if self._opened is not None:
            self._opened.close()


def _keeps_tombstones(at_end_ms: int, now_ms: int) -> bool:
    """Check whether tombstones written since `at_end_ms` are still in the log.

    A time over a minute ahead of the clock is unreliable, so the answer is no.
    """
    return -_SKEW_MS <= now_ms - at_end_ms <= DELETE_RETENTION_MS


def _due_ms(key: bytes) -> int:
    try:
        return due_ms(key[len(_TIMERS) :])
    except ValueError as exc:
        raise InternalUnreadable(str(exc), row=key) from exc
