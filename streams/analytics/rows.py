"""Batches of columns from records: as they stand on a topic, and the rows of a table."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from schemas import Undecodable, decode_many
from streams.analytics.columns import Columns
from streams.engine.headers import CAUSE, TRACEPARENT, trace_id
from streams.engine.principals import PRINCIPAL
from streams.engine.records import LogRecord, Record, header, position
from streams.engine.refused_rows import is_written_once
from streams.log.record_json import key_text
from streams.replay.spill import SpillStore
from topology.declarations import Topic
from topology.tables import BY_NAME

_CHUNK = 512
"""Records that are decoded together: as Python values they take ten times their bytes."""
_STAMP = struct.Struct(">qq")
OnUndecodable = Callable[[str], None]


def record_batches(
    topic: Topic, stream: Iterable[Record], columns: Columns, on_undecodable: OnUndecodable
) -> Iterator[Any]:
    """Yield RecordBatches of records, without those that no schema decodes."""
    for chunk in _chunks(stream):
        yield from _batch(topic, chunk, columns, _record_values, on_undecodable)


def table_batches(
    topic: Topic,
    stream: Iterable[Record],
    columns: Columns,
    scratch: Path,
    on_undecodable: OnUndecodable,
) -> Iterator[Any]:
    """Yield RecordBatches of the rows of a table, by key, after all these records of its topic.

    scratch: an empty folder.
    """
    store = SpillStore(scratch / "rows")
    try:
        place: tuple[str, int] = (topic.name, 0)
        for record in stream:
            place = (record.topic, record.partition)
            key = record.key or b""
            if is_written_once(BY_NAME[topic.name], key) and store.get(key) is not None:
                continue  # of such a key the first record stands
            stamp = _STAMP.pack(record.offset, record.timestamp)
            store.put(key, None if record.value is None else stamp + record.value)
        rows = (_row_record(*place, key, row) for key, row in store.scan(b""))
        for chunk in _chunks(rows):
            yield from _batch(topic, chunk, columns, _row_values, on_undecodable)
    finally:
        store.close()


def _row_record(topic: str, partition: int, key: bytes, row: bytes) -> LogRecord:
    offset, timestamp = _STAMP.unpack_from(row)
    return LogRecord(topic, partition, offset, timestamp, key, row[_STAMP.size :])


def _chunks(stream: Iterable[Record]) -> Iterator[list[Record]]:
    iterator = iter(stream)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _batch(
    topic: Topic,
    chunk: list[Record],
    columns: Columns,
    values_of: Callable[[Record], tuple[Any, ...]],
    on_undecodable: OnUndecodable,
) -> Iterator[Any]:
    rows: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []
    decoded = decode_many([record.value for record in chunk], columns.record)
    for record, each in zip(chunk, decoded, strict=True):
        if not isinstance(each, Undecodable):
            rows.append((values_of(record), each.value))
        elif record.value is None and topic.nullable:
            rows.append((values_of(record), None))
        else:
            on_undecodable(position(record))
    if rows:
        yield columns.batch(rows)


def _record_values(record: Record) -> tuple[Any, ...]:
    """Return the values of RECORD_COLUMNS."""
    return (
        record.partition,
        record.offset,
        record.timestamp,
        key_text(record),
        _text(header(record, CAUSE)),
        _text(header(record, PRINCIPAL)),
        trace_id(header(record, TRACEPARENT)),
    )


def _row_values(record: Record) -> tuple[Any, ...]:
    """Return the values of ROW_COLUMNS."""
    return (key_text(record), record.partition, record.offset, record.timestamp)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")
