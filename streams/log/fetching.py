"""Single records of a log, by position."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable
from streams.views.params import parse_position

PATIENCE_S = 10.0
_POLL_S = 0.1


def records_of(log: Log) -> Callable[[str], Record | None]:
    """Reads the record at a position; None when it is there no more, or not yet.

    Raises BrokerUnavailable when the log gives nothing for PATIENCE_S.
    """

    def fetch(position: str) -> Record | None:
        topic, partition, offset = parse_position(position)
        return next(fetched(log, TopicPartition(topic, partition), [offset]), None)

    return fetch


def fetched(log: Log, tp: TopicPartition, offsets: Iterable[int]) -> Iterator[Record]:
    """Those of these records that are there, by one reader.

    Raises BrokerUnavailable when the log gives nothing for PATIENCE_S.
    """
    wanted = sorted(set(offsets))
    start, end = log.starts([tp])[tp], log.high_watermarks([tp])[tp]
    wanted = [offset for offset in wanted if start <= offset < end]
    if not wanted:
        return
    with log.reader({tp: wanted[0]}) as reader:
        for offset in wanted:
            reader.seek(tp, offset)
            deadline, found = time.monotonic() + PATIENCE_S, list[Record]()
            while not found and reader.position(tp) <= offset:
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        f"{tp.topic}/{tp.partition}/{offset} could not be read for"
                        f" {PATIENCE_S:.0f} s",
                        advice="It has no leader, or a transaction on it is open; try again.",
                    )
                found = reader.poll(_POLL_S, 1)
            if found and found[0].offset == offset:
                yield found[0]
