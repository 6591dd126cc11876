"""Positions of tasks never move back, and every RocksDB is the fold of its changelogs.

A store says up to where it has applied each changelog; it must hold the rows of exactly that, no
matter when its worker was killed.  Rows that are not there, or more than there are, are told by
name: a store that leads the log is the trace of an apply before its commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from schemas import decode
from streams.engine.records import Record, position
from streams.engine.rows import store_key
from streams.engine.store import Store
from tests.history.anomalies import Anomaly, Violation
from tests.history.sources import Source
from topology import processors
from topology.core import CHANGELOG, INPUT_POSITIONS

_META = b"\0meta"
_POSITIONS = store_key(INPUT_POSITIONS.name, "")
_TABLES = {t.topic: store_key(t.name, "") for p in processors.ALL for t in p.tables if t.topic}
CHANGELOGS = {**_TABLES, CHANGELOG: b""}
"""With what precedes their keys in a store."""


def check(source: Source, directories: Mapping[str, Path]) -> Iterator[Violation]:
    """directories: of the workers' tasks, by the workers' names; nobody has them open."""
    yield from _forward(source)
    logged: dict[int, list[tuple[bytes, Record]]] = defaultdict(list)
    for topic, prefix in CHANGELOGS.items():
        for record in source.records(topic):
            logged[record.partition].append((prefix + (record.key or b""), record))
    for worker, directory in directories.items():
        for partition, records in logged.items():
            if (directory / str(partition)).exists():
                with Store(directory / str(partition)) as store:
                    yield from _same(f"{worker}/{partition}", store, records)


def _forward(source: Source) -> Iterator[Violation]:
    stands: dict[tuple[int, bytes], int] = {}
    for record in source.records(CHANGELOG):
        key = record.key or b""
        if not key.startswith(_POSITIONS) or record.value is None:
            continue
        now = decode(record.value, INPUT_POSITIONS.record).value["next_offset"]
        before = stands.get((record.partition, key), 0)
        if now < before:
            detail = f"{key[len(_POSITIONS) :].decode()} moves back from {before} to {now}"
            yield Violation(Anomaly.POSITION_BACK, position(record), detail)
        stands[record.partition, key] = now


def _same(name: str, store: Store, records: list[tuple[bytes, Record]]) -> Iterator[Violation]:
    meta = store.get(_META)
    if meta is None:
        return  # killed before it had flushed anything
    applied: dict[str, int] = orjson.loads(meta)["positions"]
    expected: dict[bytes, bytes] = {}
    for key, record in records:
        if record.offset >= applied.get(record.topic, 0):
            continue
        if record.value is None:
            expected.pop(key, None)
        else:
            expected[key] = record.value
    stored = dict(store.scan(b"", b"\1"))  # what lies below are the store's own notes
    for key in stored.keys() - expected.keys():
        yield Violation(Anomaly.STORE, f"{name} {key!r}", "a row that its changelog does not have")
    for key in expected.keys() - stored.keys():
        yield Violation(Anomaly.STORE, f"{name} {key!r}", "a row of its changelog is not there")
    for key in stored.keys() & expected.keys():
        if stored[key] != expected[key]:
            yield Violation(Anomaly.STORE, f"{name} {key!r}", "a row is another in its changelog")
