"""Reader of facts in log order; the topics of one protocol are read together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, decode
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, header, position
from streams.log.reading import records
from streams.replay.consistent_cut import ConsistentCut
from streams.replay.genuine_records import GenuineRecords
from topology.declarations import Topic


class Fact(NamedTuple):
    """A fact as read from the log.

    value: Avro; None if it cannot be decoded.  id: its `ce_id`.  settled: the fact lies below the
    first end of the span, and if a task reads it, that task has read it.  cut_off: earlier facts of
    its partition are not on the log any more.
    """

    topic: Topic
    place: str
    partition: int
    key: bytes | None
    cause: str
    id: str
    value: dict[str, Any] | None
    settled: bool
    cut_off: bool


def read_facts(
    log: Log,
    prefix: str,
    group: Sequence[Topic],
    partition: int,
    cut: ConsistentCut,
    genuine: GenuineRecords | None = None,
) -> Iterator[Fact]:
    """Yield the facts of one partition, merged by time across topics; ties in the order of `group`.

    Facts that the task reads itself and has not read yet come after those below the first end of
    the span.  genuine: which of them count, if not all do.
    """
    unread: list[Fact] = []
    past_first_end = False
    for fact, read in _merge_by_time(log, prefix, group, partition, cut, genuine):
        if not read and not past_first_end:
            unread.append(fact)
            continue
        if not fact.settled and not past_first_end:
            past_first_end = True
            yield from unread
        yield fact
    if not past_first_end:
        yield from unread


def _merge_by_time(
    log: Log,
    prefix: str,
    group: Sequence[Topic],
    partition: int,
    cut: ConsistentCut,
    genuine: GenuineRecords | None,
) -> Iterator[tuple[Fact, bool]]:
    """Yield each fact, and whether the task that reads it has read it."""
    counted = (genuine or GenuineRecords(None)).of
    streams = [
        _with_sort_keys(
            number, counted(records(log, [tp], {tp: cut.after[tp]}, {tp: cut.starts[tp]}))
        )
        for number, topic in enumerate(group)
        if (tp := TopicPartition(prefix + topic.name, partition)) in cut.after
    ]
    for _, number, _, record in heapq.merge(*streams, key=lambda item: item[:3]):
        tp, topic = TopicPartition(record.topic, record.partition), group[number]
        read = not topic.is_input or record.offset < cut.decided.get(tp, 0)
        settled, cut_off = read and record.offset < cut.before[tp], cut.starts[tp] > 0
        yield to_fact(topic, record, settled, cut_off), read


def header_text(record: Record, name: str) -> str:
    """Return a header as text, empty if there is none.  Bytes that are not UTF-8 are replaced."""
    return (header(record, name) or b"").decode(errors="replace")


def _with_sort_keys(
    number: int, stream: Iterable[Record]
) -> Iterator[tuple[int, int, int, Record]]:
    """Yield records with their sort key.  A clock that steps back does not reorder a partition."""
    latest = 0
    for record in stream:
        latest = max(latest, record.timestamp)
        yield latest, number, record.offset, record


def to_fact(topic: Topic, record: Record, settled: bool, cut_off: bool) -> Fact:
    """Decode a fact; see `Fact` for `settled` and `cut_off`."""
    try:
        value = decode(record.value, topic.record or "").value
    except Undecodable:
        value = None
    return Fact(
        topic,
        position(record),
        record.partition,
        record.key,
        header_text(record, CAUSE),
        header_text(record, "ce_id"),
        value,
        settled,
        cut_off,
    )
