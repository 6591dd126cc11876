"""Single records of a log, by position."""

from __future__ import annotations

import time
from collections.abc import Callable

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.views import parse_position

PATIENCE_S = 10.0
_POLL_S = 0.1


def records_of(log: Log) -> Callable[[str], Record | None]:
    """Reads the record at a position; None when it is there no more."""

    def fetch(position: str) -> Record | None:
        topic, partition, offset = parse_position(position)
        tp = TopicPartition(topic, partition)
        if log.starts([tp])[tp] > offset:
            return None
        deadline = time.monotonic() + PATIENCE_S
        with log.reader({tp: offset}) as reader:
            while time.monotonic() < deadline:
                for record in reader.poll(_POLL_S, 1):
                    return record if record.offset == offset else None
        return None

    return fetch
