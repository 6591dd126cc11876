"""Signing the rows of an existing log, or under a new key: `headrace topics sign`.

For each task, in its transactions, the row in force of every key of its tables is written again
with a MAC under the first key, unless it has one; the row of openings comes last.  Killed, it
continues where it stands: rows that are signed stay, and serials go on above theirs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from schemas import encode
from streams.engine.log import Log, Producer
from streams.engine.mac_checks import UNSIGNED_BEFORE, MacChecks, Serials
from streams.engine.mac_signer import MacSigner
from streams.engine.record_mac import HEADER, split_mac_keys
from streams.engine.records import Output, Record, TopicPartition
from streams.engine.refused_rows import is_written_once
from streams.engine.store import Store
from streams.engine.task import transactional_id
from streams.engine.task_macs import OPENING_ROW
from streams.errors import SettingsError
from streams.log.reading import records
from streams.settings.service import ServiceSettings
from streams.telemetry.progress import count_items
from topology import tables, topics
from topology.core import CHANGELOG, TASK_OPENINGS
from topology.declarations import Topic
from topology.headers import has_mac

_OFFSET = struct.Struct(">q")
_TRANSACTION_ROWS = 1000
_END_OF_TIME_MS = 1 << 62
_OPENING_BITS = 32


class SignedTask(NamedTuple):
    """The rows of one task.  signed: written again; unchanged: had a MAC of the first key."""

    partition: int
    signed: int
    unchanged: int


def sign_topics(log: Log, settings: ServiceSettings) -> Iterator[SignedTask]:
    """Sign the rows of all tasks, one after the other, and yield each when it is done.

    A task's transaction fences a worker that owns it.  Raises SettingsError without a key, Fenced
    when a worker takes the task over meanwhile.
    """
    if settings.mac_key is None:
        raise SettingsError(
            "HEADRACE_MAC_KEY is not set", advice="`openssl rand -hex 32` makes a key."
        )
    for partition in range(settings.partitions):
        producer = log.producer(transactional_id(settings, partition))
        try:
            producer.open()
            with TemporaryDirectory(prefix="headrace-") as directory:
                store = Store(Path(directory) / "rows")
                try:
                    yield _TaskSigning(log, settings, partition, producer, store).run()
                finally:
                    store.close()
        finally:
            producer.close()


class _TaskSigning:
    """The signing of one task's rows.

    store: the offset of the row in force that is to be signed, by topic, NUL, record key; empty for
    rows that have a MAC.
    """

    def __init__(
        self,
        log: Log,
        settings: ServiceSettings,
        partition: int,
        producer: Producer,
        store: Store,
    ) -> None:
        self._log, self._partition, self._producer = log, partition, producer
        self._store, self._prefix = store, settings.prefix
        self._keys = split_mac_keys(settings.mac_key)
        self._topics = [t for t in topics.ALL if t.compacted and has_mac(t)]
        self._all = MacChecks(
            self._keys, self._topics, settings.prefix, settings.partitions, _END_OF_TIME_MS
        )
        self._first = MacChecks(self._keys[:1], self._topics, settings.prefix, settings.partitions)
        self._last_serial = 0
        self._signed = self._unchanged = 0

    def run(self) -> SignedTask:
        for topic in self._topics:
            self._find_rows(topic)
        opening = (self._last_serial >> _OPENING_BITS) + 1
        self._signer = MacSigner.of_opening(
            self._keys[0], self._partition, opening, self._topics, self._prefix
        )
        for topic in self._topics:
            self._sign_rows(topic)
        value = encode(TASK_OPENINGS.record, {"number": opening})
        name = self._prefix + CHANGELOG.name
        self._commit([Output(name, OPENING_ROW, value, (), self._partition)])
        return SignedTask(self._partition, self._signed, self._unchanged)

    def _records(self, topic: Topic) -> Iterator[Record]:
        name = self._prefix + topic.name
        tp = TopicPartition(name, self._partition)
        (end,) = self._log.ends([tp]).values()
        (start,) = self._log.starts([tp]).values()
        stored = records(self._log, [tp], {tp: end}, {tp: start})
        return iter(count_items(stored, f"read {name}/{self._partition}", end - start))

    def _find_rows(self, topic: Topic) -> None:
        """Store the offsets of the rows in force, and find the last serial."""
        serials: Serials = {}
        for record in self._records(topic):
            (reason,) = self._all.reasons([record], serials)
            if reason not in (None, UNSIGNED_BEFORE) or record.key is None:
                continue
            row = _row_key(record)
            if reason is not None and self._is_later_of_once(topic, record, row):
                continue
            if record.value is None:
                self._store.write({row: None})
            else:
                is_signed = self._first.reasons([record], {}) == [None]
                offset = b"" if is_signed else _OFFSET.pack(record.offset)
                self._store.write({row: offset})
        for last in serials.values():
            self._last_serial = max(self._last_serial, *last.values())

    def _is_later_of_once(self, topic: Topic, record: Record, row: bytes) -> bool:
        """Return whether it is a later record of a key whose first record stands."""
        name, _, key = (record.key or b"").partition(b"\0")
        if topic is not CHANGELOG:
            name, key = topic.name.encode(), record.key or b""
        table = tables.BY_NAME.get(name.decode(errors="replace"))
        is_once = table is not None and is_written_once(table, key)
        return is_once and self._store.get(row) is not None

    def _sign_rows(self, topic: Topic) -> None:
        outputs: list[Output] = []
        for record in self._records(topic):
            if record.key is None or record.key == OPENING_ROW:
                continue
            stored = self._store.get(_row_key(record))
            if stored == b"":
                self._unchanged += 1
                self._store.write({_row_key(record): None})
            elif stored == _OFFSET.pack(record.offset):
                others = [(name, value) for name, value in record.headers if name != HEADER]
                outputs.append(
                    Output(record.topic, record.key, record.value, others, self._partition)
                )
            if len(outputs) == _TRANSACTION_ROWS:
                self._commit(outputs)
                outputs = []
        if outputs:
            self._commit(outputs)

    def _commit(self, outputs: list[Output]) -> None:
        self._producer.commit(self._signer.sign(outputs))
        self._signed += len(outputs)


def _row_key(record: Record) -> bytes:
    return b"%s\0%s" % (record.topic.encode(), record.key or b"")
