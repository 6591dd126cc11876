"""The parameter `?as_of=`: the point of the log that a query looks back to."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from schemas.formats import parse_ms
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, header, position
from streams.errors import Conflict
from streams.log.fetching import records_of
from streams.views.parse import QueryError
from streams.views.positions import Position
from streams.views.query_params import AFTER
from streams.views.reads import ReadOnlyStore
from topology import topics
from topology.declarations import TopicKind
from topology.verdicts import VERDICTS

NAME = "as_of"
AHEAD = "as_of_ahead"


class AsOf(NamedTuple):
    """The point of an as-of query.

    at: ms since the epoch; for a position, when its record was written or decided.
    places: the position, and that of the record which caused it; empty if the query gave a time.
    """

    at: int
    places: tuple[Position, ...] = ()


def parse_as_of(text: str, log: Log, view: ReadOnlyStore, prefix: str, now_ms: int) -> AsOf:
    """Return the point that the parameter `as_of` names.  prefix: of topic names.

    Raises QueryError if it is neither a position nor a time, is not on the log, or lies ahead of
    the log; Conflict while the view has not yet seen the decisions up to there.
    """
    as_of = read_as_of(text, log, prefix, now_ms)
    if as_of.places:
        _check_seen(as_of.places[0], view, prefix)
    return as_of


def read_as_of(text: str, log: Log, prefix: str, now_ms: int) -> AsOf:
    """Return the point that a text names, whatever a view has seen.  Raises QueryError."""
    if AFTER.fault(text) is None:
        return _from_position(text, log, prefix)
    at = parse_ms(text)
    if at is None:
        raise QueryError(NAME, "a position, topic/partition/offset, or an ISO 8601 time with zone")
    if at > now_ms:
        raise QueryError(NAME, "lies in the future", AHEAD)
    return AsOf(at)


def _from_position(text: str, log: Log, prefix: str) -> AsOf:
    name, partition, offset = text.split("/")
    target = Position(name, int(partition), int(offset))
    record = _read_target(target, log, prefix)
    at = header(record, "ce_time")
    decided = None if at is None else parse_ms(at.decode("ascii", "replace"))
    caused = _cause_of(record)
    places = (target,) if caused is None else (target, caused)
    return AsOf(record.timestamp if decided is None else decided, places)


def _read_target(target: Position, log: Log, prefix: str) -> Record:
    topic = topics.BY_NAME.get(target.topic.removeprefix(prefix))
    metadata = log.topics().get(target.topic)
    is_table = topic is not None and topic.compacted and topic.kind is not TopicKind.COMMAND
    if topic is None or metadata is None or is_table or prefix + topic.name != target.topic:
        raise QueryError(NAME, f"{target.topic} is no topic of commands or facts")
    if target.partition >= metadata.partitions:
        raise QueryError(NAME, f"{target.topic} has no partition {target.partition}")
    tp = TopicPartition(target.topic, target.partition)
    end = log.ends([tp])[tp]
    if target.offset >= end:
        raise QueryError(NAME, f"lies ahead of the log, which ends at {end} there", AHEAD)
    record = records_of(log)("/".join(map(str, target)))
    if record is None:
        raise QueryError(NAME, "there is no record at that offset")
    return record


def _check_seen(target: Position, view: ReadOnlyStore, prefix: str) -> None:
    """Raise Conflict if the view has not seen the position; its progress is in its rows too."""
    topic = topics.BY_NAME[target.topic.removeprefix(prefix)]
    if topic in VERDICTS:
        row = view.get("", "answered", target.topic, target.partition)
        seen = -1 if row is None else int(orjson.loads(row)[2])
    else:
        row = view.get("", "position", target.topic, target.partition)
        seen = target.offset if row is None else int(row) - 1  # the view may not read this topic
    if seen < target.offset:
        text = "what was decided up to as_of is not seen yet; ask again, or with `after` first"
        raise Conflict(text, "as_of_undecided")


def _cause_of(record: Record) -> Position | None:
    """Return the position of the record that caused a fact, None if a timer did."""
    cause = (header(record, CAUSE) or b"").decode("utf-8", "replace")
    return cause_position(cause) if position(record) != cause else None


def cause_position(cause: str) -> Position | None:
    """Return the position that a cause names, None if it names a timer."""
    if AFTER.fault(cause) is not None or cause.startswith("timer/"):
        return None
    topic, partition, offset = cause.split("/")
    return Position(topic, int(partition), int(offset))
