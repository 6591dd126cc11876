"""A reader of the records that topics hold now, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.log.reading import SILENCE_S, records

_FIRST_WINDOW = 256


class Age(NamedTuple):
    """The place of a record in the order of time; the larger, the newer.  timestamp: ms."""

    timestamp: int
    topic: str
    partition: int
    offset: int


def age_of(record: Record) -> Age:
    return Age(record.timestamp, record.topic, record.partition, record.offset)


def newest_first(
    log: Log, tps: Sequence[TopicPartition], patience_s: float = SILENCE_S
) -> Iterator[Record]:
    """Yield the committed records of these partitions by time, the newest first.

    Reads backwards in windows that grow, so that the first records cost little.
    Raises BrokerUnavailable when the log returns nothing at all for `patience_s`.
    """
    starts, upper = log.starts(tps), log.ends(tps)
    pending: list[Record] = []
    window = _FIRST_WINDOW
    while unread := [tp for tp in tps if upper[tp] > starts[tp]]:
        lower = {tp: max(starts[tp], upper[tp] - window) for tp in unread}
        oldest: dict[TopicPartition, int] = {}
        for record in records(log, unread, upper, lower, patience_s):
            pending.append(record)
            oldest.setdefault(TopicPartition(record.topic, record.partition), record.timestamp)
        upper.update(lower)
        window *= 4
        pending.sort(key=age_of)
        unfinished = [tp for tp in unread if lower[tp] > starts[tp]]
        if all(tp in oldest for tp in unfinished):  # else older ones may lie before markers
            newest_unread = max((oldest[tp] for tp in unfinished), default=-1)
            while pending and pending[-1].timestamp > newest_unread:
                yield pending.pop()
    yield from reversed(pending)
