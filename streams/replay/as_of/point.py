"""A point of the log that a reader looks back to: `?as_of=`."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from schemas.formats import parse_ms
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, header, position
from streams.errors import Conflict
from streams.log.fetching import records_of
from streams.views.parameters import AFTER
from streams.views.params import QueryError
from streams.views.positions import Position
from streams.views.reads import Reads
from topology import topics
from topology.declarations import Kind
from topology.verdicts import VERDICTS

NAME = "as_of"
_AHEAD = "as_of_ahead"


class AsOf(NamedTuple):
    """at: ms since the epoch; of a position, when what lies there was written or decided.

    places: the position, and that of the record which caused what lies there; none of a time.
    """

    at: int
    places: tuple[Position, ...] = ()


def point(text: str, log: Log, view: Reads, prefix: str, now_ms: int) -> AsOf:
    """What a caller looks back to.  prefix: of topic names.

    Raises QueryError for what is neither a position nor a time, is not on the log or lies ahead
    of it; Conflict while the view has not seen what was decided up to there.
    """
    if AFTER.fault(text) is None:
        return _of_position(text, log, view, prefix)
    at = parse_ms(text)
    if at is None:
        raise QueryError(NAME, "a position, topic/partition/offset, or an ISO 8601 time with zone")
    if at > now_ms:
        raise QueryError(NAME, "lies in the future", _AHEAD)
    return AsOf(at)


def _of_position(text: str, log: Log, view: Reads, prefix: str) -> AsOf:
    name, partition, offset = text.split("/")
    place = Position(name, int(partition), int(offset))
    record = _record(place, log, prefix)
    _check_seen(place, view, prefix)
    at = header(record, "ce_time")
    decided = None if at is None else parse_ms(at.decode("ascii", "replace"))
    caused = _caused(record)
    places = (place,) if caused is None else (place, caused)
    return AsOf(record.timestamp if decided is None else decided, places)


def _record(place: Position, log: Log, prefix: str) -> Record:
    topic = topics.BY_NAME.get(place.topic.removeprefix(prefix))
    there = log.topics().get(place.topic)
    row = topic is not None and topic.compacted and topic.kind is not Kind.COMMAND
    if topic is None or there is None or row or prefix + topic.name != place.topic:
        raise QueryError(NAME, f"{place.topic} is no topic of commands or facts")
    if place.partition >= there.partitions:
        raise QueryError(NAME, f"{place.topic} has no partition {place.partition}")
    tp = TopicPartition(place.topic, place.partition)
    end = log.ends([tp])[tp]
    if place.offset >= end:
        raise QueryError(NAME, f"lies ahead of the log, which ends at {end} there", _AHEAD)
    record = records_of(log)("/".join(map(str, place)))
    if record is None:
        raise QueryError(NAME, "there is no record at that offset")
    return record


def _check_seen(place: Position, view: Reads, prefix: str) -> None:
    """What a view says of its own progress stands in its rows too."""
    topic = topics.BY_NAME[place.topic.removeprefix(prefix)]
    if topic in VERDICTS:
        row = view.get("", "answered", place.topic, place.partition)
        seen = -1 if row is None else int(orjson.loads(row)[2])
    else:
        row = view.get("", "position", place.topic, place.partition)
        seen = place.offset if row is None else int(row) - 1  # a view need not follow it
    if seen < place.offset:
        text = "what was decided up to as_of is not seen yet; ask again, or with `after` first"
        raise Conflict(text, "as_of_undecided")


def _caused(record: Record) -> Position | None:
    """The record that caused a fact; None for a timer's."""
    cause = (header(record, CAUSE) or b"").decode("utf-8", "replace")
    return place_of(cause) if position(record) != cause else None


def place_of(cause: str) -> Position | None:
    """Of a record; None for what a timer is called."""
    if AFTER.fault(cause) is not None or cause.startswith("timer/"):
        return None
    topic, partition, offset = cause.split("/")
    return Position(topic, int(partition), int(offset))
