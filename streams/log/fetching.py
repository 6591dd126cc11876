"""Readers of single records of a log, by position."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from streams.engine.log import Log, Pace
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable
from streams.views.parse import parse_position

PATIENCE_S = 10.0
_POLL_S = 0.1


def records_of(log: Log, patience_s: float = PATIENCE_S) -> Callable[[str], Record | None]:
    """Return a function that reads the record at a position, or None if it does not exist.

    It raises BrokerUnavailable when the log returns nothing for `patience_s`.
    """

    def fetch(position: str) -> Record | None:
        topic, partition, offset = parse_position(position)
        tp = TopicPartition(topic, partition)
        return next(read_offsets(log, tp, [offset], patience_s), None)

    return fetch


def read_offsets(
    log: Log, tp: TopicPartition, offsets: Iterable[int], patience_s: float = PATIENCE_S
) -> Iterator[Record]:
    """Read the existing ones of these records with one reader.

    Raises BrokerUnavailable when the log returns nothing for `patience_s`.
    """
    pending = sorted(set(offsets))
    start, end = log.starts([tp])[tp], log.high_watermarks([tp])[tp]
    pending = [offset for offset in pending if start <= offset < end]
    if not pending:
        return
    with log.reader({tp: pending[0]}, Pace.FEW) as reader:
        for offset in pending:
            if reader.position(tp) != offset:  # a seek fetches again what is there
                reader.seek(tp, offset)
            deadline, records = time.monotonic() + patience_s, list[Record]()
            while not records and reader.position(tp) <= offset:
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        f"{tp.topic}/{tp.partition}/{offset} could not be read for"
                        f" {patience_s:.0f} s",
                        advice="It has no leader, or a transaction on it is open; try again.",
                    )
                records = reader.poll(_POLL_S, 1)
            if records and records[0].offset == offset:
                yield records[0]
