"""The records that count at a point of the log, as `docs/time-travel.md` has points.

Facts and audit records count by the time that they bear, commands and edges by when they were
appended.  At a position, records of its partition and those that they caused count by their
offsets.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from schemas.formats import iso_ms, parse_ms
from streams.analytics.errors import AsOfAhead, QueryValue
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.records import Record, header
from streams.replay.as_of.point import AHEAD, AsOf, cause_position, read_as_of
from streams.views.parse import QueryError
from streams.views.positions import Position
from topology.declarations import Topic, TopicKind

_DATED = (TopicKind.FACT, TopicKind.AUDIT, TopicKind.INBOX)
"""Kinds of topics whose records say in `ce_time` when they were decided."""


def read_point(text: str, log: Log, prefix: str) -> AsOf:
    """Return the point that a text names.  Raises QueryValue, AsOfAhead, BrokerUnavailable."""
    try:
        return read_as_of(text, log, prefix, int(time.time() * 1000))
    except QueryError as exc:
        problem = exc.problems[0]
        error = AsOfAhead if problem.rule == AHEAD else QueryValue
        raise error(f"--as-of: {problem.message}") from exc


def canonical(as_of: AsOf) -> str:
    """Return the one text of a point: its position, or its time."""
    return "/".join(map(str, as_of.places[0])) if as_of.places else iso_ms(as_of.at)


def counted(stream: Iterable[Record], topic: Topic, as_of: AsOf) -> Iterator[Record]:
    """Yield the records of a topic that count at a point."""
    return (record for record in stream if counts(record, topic, as_of))


def counts(record: Record, topic: Topic, as_of: AsOf) -> bool:
    cause = cause_position((header(record, CAUSE) or b"").decode("utf-8", "replace"))
    if cause is not None and cause in as_of.places[1:]:
        return True  # all effects of one record count, or none
    record_at = Position(record.topic, record.partition, record.offset)
    for point in as_of.places:
        for each in (record_at, cause):
            if each is not None and each[:2] == point[:2]:
                return each.offset <= point.offset
    return _decided_ms(record, topic) <= as_of.at


def _decided_ms(record: Record, topic: Topic) -> int:
    text = header(record, "ce_time") if topic.kind in _DATED else None
    decided = None if text is None else parse_ms(text.decode("ascii", "replace"))
    return record.timestamp if decided is None else decided
