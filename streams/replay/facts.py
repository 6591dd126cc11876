"""Reading facts in their order, topics of one protocol together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, decode
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, header, position
from streams.log.reading import records
from streams.replay.cut import Cut
from topology.declarations import Topic


class Fact(NamedTuple):
    """value: Avro; None if it cannot be read.  id: its `ce_id`.  settled: it lies below the first
    end of the span, and the task that reads it, if one does, has read it.  cut_off: facts that
    were before it are not on the log any more."""

    topic: Topic
    place: str
    partition: int
    key: bytes | None
    cause: str
    id: str
    value: dict[str, Any] | None
    settled: bool
    cut_off: bool


def facts_of(
    log: Log, prefix: str, group: Sequence[Topic], partition: int, cut: Cut
) -> Iterator[Fact]:
    """One partition of some topics; several are merged by time, ties in the order given.

    A fact that its reader, which is the task itself, has not read yet comes behind all that the
    task has written till then.
    """
    waiting: list[Fact] = []
    beyond = False
    for fact, read in _in_time(log, prefix, group, partition, cut):
        if not read and not beyond:
            waiting.append(fact)
            continue
        if not fact.settled and not beyond:
            beyond = True
            yield from waiting
        yield fact
    if not beyond:
        yield from waiting


def _in_time(
    log: Log, prefix: str, group: Sequence[Topic], partition: int, cut: Cut
) -> Iterator[tuple[Fact, bool]]:
    """And whether a task that reads the fact has read it."""
    streams = [
        _merged(number, records(log, [tp], {tp: cut.after[tp]}, {tp: cut.starts[tp]}))
        for number, topic in enumerate(group)
        if (tp := TopicPartition(prefix + topic.name, partition)) in cut.after
    ]
    for _, number, _, record in heapq.merge(*streams, key=lambda item: item[:3]):
        tp, topic = TopicPartition(record.topic, record.partition), group[number]
        read = not topic.is_input or record.offset < cut.decided.get(tp, 0)
        settled, cut_off = read and record.offset < cut.before[tp], cut.starts[tp] > 0
        yield _fact(topic, record, settled, cut_off), read


def text_of(record: Record, name: str) -> str:
    """A header; empty if there is none.  What is no text is shown as it can be."""
    return (header(record, name) or b"").decode(errors="replace")


def _merged(number: int, found: Iterator[Record]) -> Iterator[tuple[int, int, int, Record]]:
    """With what orders them.  A clock that stepped back does not reorder a partition."""
    latest = 0
    for record in found:
        latest = max(latest, record.timestamp)
        yield latest, number, record.offset, record


def _fact(topic: Topic, record: Record, settled: bool, cut_off: bool) -> Fact:
    try:
        value = decode(record.value, topic.record or "").value
    except Undecodable:
        value = None
    return Fact(
        topic,
        position(record),
        record.partition,
        record.key,
        text_of(record, CAUSE),
        text_of(record, "ce_id"),
        value,
        settled,
        cut_off,
    )
