"""Single records and pages of a partition, read for one request within seconds."""

from __future__ import annotations

import time
from typing import NamedTuple

from streams.engine.log import Log, Pace
from streams.engine.records import Record, TopicPartition
from streams.errors import Forbidden, Gone, NotFound
from streams.log.fetching import read_offsets
from streams.log.state import LogState
from topology import topics
from topology.declarations import Topic, TopicKind

PATIENCE_S = 3.0
"""How long one request waits for its records."""
MAX_BYTES = 16 << 20
"""The most bytes of values that are read for one request, but at least one record.

A topic bounds compressed bytes only, and a thousandfold of them may be in memory.
"""
_POLL_S = 0.1
_MAX_DIGITS = 18
_HIDDEN = (TopicKind.INTERNAL, TopicKind.CHANGELOG, TopicKind.DOOR)


class RecordPage(NamedTuple):
    """Records of one partition in log order.  next: the offset of the next page, if any."""

    records: list[Record]
    next: int | None


class Partition(NamedTuple):
    """A partition whose records may be shown."""

    topic: Topic
    tp: TopicPartition


def is_hidden(topic: Topic) -> bool:
    """Return whether records are of the service for itself, or may contain secrets."""
    return topic.kind in _HIDDEN or topic.secret


def partition_named(state: LogState, name: str, number: str) -> Partition:
    """Return a partition by the name of its topic, with or without prefix.

    Raises Forbidden for a topic whose records are not shown, NotFound for an unknown partition.
    """
    full_name = name if name in state.topics else state.prefix + name
    topic = state.topics.get(full_name) or topics.BY_NAME.get(name)
    if topic is not None and is_hidden(topic):
        raise Forbidden(
            f"{name} is for processors only, or may contain secrets", "topic_internal", advice=""
        )
    tp = TopicPartition(full_name, parse_number(number))
    if topic is None or tp not in state.ranges:
        raise _unknown_record(f"there is no partition {name}/{number}")
    return Partition(topic, tp)


def read_record(log: Log, tp: TopicPartition, number: str) -> Record:
    """Return the record at an offset.  Raises Forbidden, NotFound, Gone, BrokerUnavailable."""
    offset, place = parse_number(number), f"{tp.topic}/{tp.partition}/{number}"
    record = next(read_offsets(log, tp, [offset], PATIENCE_S), None)
    if record is not None:
        if _size(record) > MAX_BYTES:
            message = f"{place} has {_size(record)} bytes, more than the {MAX_BYTES} that are shown"
            raise Forbidden(message, "record_too_large", advice="")
        return record
    if 0 <= offset < log.starts([tp])[tp]:
        raise Gone(f"{place} is not kept any more", "record_expired", advice="")
    raise _unknown_record(
        f"no record is at {place}: there never was one, or it was compacted or aborted"
    )


def read_page(log: Log, tp: TopicPartition, first: int, limit: int) -> RecordPage:
    """Return at most `limit` committed records from an offset on.

    What lies before the partition's start is skipped.  Less comes if Kafka takes long or values are
    large, and the next page goes on from there.
    """
    start, end = log.starts([tp])[tp], log.ends([tp])[tp]
    offset = max(first, start)
    if offset >= end:
        return RecordPage([], None)
    records: list[Record] = []
    deadline, size = time.monotonic() + PATIENCE_S, 0
    with log.reader({tp: offset}, Pace.FEW) as reader:
        while (
            len(records) <= limit
            and size <= MAX_BYTES
            and reader.position(tp) < end
            and time.monotonic() < deadline
        ):
            for record in reader.poll(_POLL_S, limit + 1 - len(records)):
                size += _size(record)
                if records and size > MAX_BYTES:
                    return RecordPage(records, records[-1].offset + 1)
                records.append(record)
        position = reader.position(tp)
    if len(records) > limit:  # the last one only shows that there is a next page
        return RecordPage(records[:limit], records[limit].offset)
    return RecordPage(records, position if position < end else None)


def parse_number(text: str) -> int:
    """Return a partition or an offset; -1, which is none, for anything else."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _MAX_DIGITS else -1


def _size(record: Record) -> int:
    return len(record.value or b"")


def _unknown_record(message: str) -> NotFound:
    return NotFound(message, "record_unknown", advice="")
