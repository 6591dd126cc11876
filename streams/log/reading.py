"""A reader of all records that topics hold now, to an end that is known at the start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable, TopicsMismatch

_POLL_S = 0.1
SILENCE_S = 120.0
"""A time longer than any transaction of ours stays open."""


def partitions(log: Log, names: Iterable[str]) -> list[TopicPartition]:
    """Return the partitions of topics by full name.  Raises TopicsMismatch when one is missing."""
    existing, tps = log.topics(), []
    for name in names:
        if name not in existing:
            raise TopicsMismatch(f"topic {name} is missing")
        tps += [TopicPartition(name, number) for number in range(existing[name].partitions)]
    return tps


def records(
    log: Log,
    tps: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, int] | None = None,
    begins: Mapping[TopicPartition, int] | None = None,
    patience_s: float = SILENCE_S,
) -> Iterator[Record]:
    """Read all records below the ends, in order within a partition.

    ends: by default the log's current ends.  One may be a high watermark: the reader waits for open
    transactions below it.  begins: by default the log's starts.
    Raises BrokerUnavailable when the log returns nothing at all for `patience_s`.
    """
    limits = log.ends(tps) if ends is None else ends
    starts = log.starts(tps) if begins is None else begins
    lagging = {tp for tp in tps if starts[tp] < limits[tp]}
    if not lagging:
        return
    with log.reader({tp: starts[tp] for tp in lagging}) as reader:
        previous, since = -1, 0.0
        while lagging:
            for record in reader.poll(_POLL_S):
                if record.offset < limits[TopicPartition(record.topic, record.partition)]:
                    yield record
            lagging = {tp for tp in lagging if reader.position(tp) < limits[tp]}
            progress = sum(reader.position(tp) for tp in lagging)
            if progress != previous:
                previous, since = progress, time.monotonic()
            elif time.monotonic() - since > patience_s:
                raise _timeout_error(min(lagging), patience_s)


def _timeout_error(tp: TopicPartition, patience_s: float) -> BrokerUnavailable:
    return BrokerUnavailable(
        f"nothing more of {tp.topic}/{tp.partition} could be read for {patience_s:.0f} s",
        advice="It has no leader, or a transaction on it is open; see to it, then try again.",
    )
