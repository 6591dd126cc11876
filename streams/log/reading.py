"""Reading what topics hold now, once, to an end that is known at the start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable, TopicsMismatch

_POLL_S = 0.1
SILENCE_S = 120.0
"""Longer than any transaction of ours stays open."""


def partitions(log: Log, names: Iterable[str]) -> list[TopicPartition]:
    """Of topics by full name.  Raises TopicsMismatch when one is missing."""
    there, found = log.topics(), []
    for name in names:
        if name not in there:
            raise TopicsMismatch(f"topic {name} is missing")
        found += [TopicPartition(name, number) for number in range(there[name].partitions)]
    return found


def records(
    log: Log,
    tps: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, int] | None = None,
    begins: Mapping[TopicPartition, int] | None = None,
) -> Iterator[Record]:
    """All that lies below the ends, in order within a partition.

    ends: those that the log has now if none are given.  One may be a high watermark: what is in
    an open transaction below it is waited for.  begins: where the log begins if none are given.
    Raises BrokerUnavailable when the log gives nothing at all for SILENCE_S.
    """
    limits = log.ends(tps) if ends is None else ends
    starts = log.starts(tps) if begins is None else begins
    behind = {tp for tp in tps if starts[tp] < limits[tp]}
    if not behind:
        return
    with log.reader({tp: starts[tp] for tp in behind}) as reader:
        stood, since = -1, 0.0
        while behind:
            for record in reader.poll(_POLL_S):
                if record.offset < limits[TopicPartition(record.topic, record.partition)]:
                    yield record
            behind = {tp for tp in behind if reader.position(tp) < limits[tp]}
            stands = sum(reader.position(tp) for tp in behind)
            if stands != stood:
                stood, since = stands, time.monotonic()
            elif time.monotonic() - since > SILENCE_S:
                raise _stuck(min(behind))


def _stuck(tp: TopicPartition) -> BrokerUnavailable:
    return BrokerUnavailable(
        f"nothing more of {tp.topic}/{tp.partition} could be read for {SILENCE_S:.0f} s",
        advice="It has no leader, or a transaction on it is open; see to it, then try again.",
    )
