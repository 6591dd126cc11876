"""The records of a view that have no entry in the transparency log yet, to the minute.

| key                                       | value                                              |
|-------------------------------------------|----------------------------------------------------|
| tlog, end, topic, partition               | the offset after the last record that has an entry |
| tlog, due, topic, partition, minute       | time of the first record of that minute, in ms,    |
|                                           | and offset of the last one                         |

They grow while no writer runs, however many entries were published before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from streams.engine.records import Record, TopicPartition
from streams.ops.tlog.logged_topics import LOGGED
from streams.views.changes import WriteBatch
from streams.views.keys import after, key
from streams.views.projection import Apply
from streams.views.reads import RowReader
from topology.declarations import Topic

_LOG = "tlog"
_DUE = key(_LOG, "due")
_MINUTE_MS = 60_000
_NUMBER_BYTES = 8


def watch_unlogged(followed: Mapping[str, Apply | None]) -> dict[str, Apply]:
    """Return the projections of the logged topics, which note records without an entry too."""
    names = (topic.name for topic in LOGGED)
    return {name: partial(_apply, apply) for name in names if (apply := followed.get(name))}


def _apply(
    apply: Callable[[Topic, Sequence[Record], WriteBatch], None],
    topic: Topic,
    records: Sequence[Record],
    rows: WriteBatch,
) -> None:
    apply(topic, records, rows)
    ends: dict[TopicPartition, int] = {}
    for record in records:
        tp = TopicPartition(record.topic, record.partition)
        if tp not in ends:
            ends[tp] = int(rows.read(_end_key(tp)) or b"0")
        if record.offset >= ends[tp]:
            row_key = _due_key(tp) + key(record.timestamp // _MINUTE_MS)
            row = rows.read(row_key)
            first_ms = record.timestamp if row is None else min(record.timestamp, _parse(row)[0])
            rows[row_key] = b"%d %d" % (first_ms, record.offset)


def end_due(rows: WriteBatch, ends: Mapping[TopicPartition, int]) -> None:
    """Note that the records below these offsets have entries."""
    for tp, end in ends.items():
        rows[_end_key(tp)] = b"%d" % end
        for row_key, row in list(rows.under(_due_key(tp))):
            if _parse(row)[1] < end:
                rows[row_key] = None


def oldest_due(rows: RowReader) -> int | None:
    """Return the time of the oldest record without an entry in ms, None if all have one."""
    times: list[int] = []
    start: bytes | None = None
    while (first := next(rows.scan(_DUE, start), None)) is not None:
        row_key, row = first
        times.append(_parse(row)[0])
        start = after(row_key[:-_NUMBER_BYTES])
    return min(times, default=None)


def _parse(row: bytes) -> tuple[int, int]:
    first_ms, last = row.split()
    return int(first_ms), int(last)


def _due_key(tp: TopicPartition) -> bytes:
    return _DUE + key(*tp)


def _end_key(tp: TopicPartition) -> bytes:
    return key(_LOG, "end", *tp)
