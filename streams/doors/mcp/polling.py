"""Polls: the matching records between a cursor and the end of the log, each once and in order."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.formats import iso_ms
from streams.doors.mcp.cursors import parse_cursor, write_cursor
from streams.doors.mcp.event_types import Arguments, EventType
from streams.doors.mcp.results import Json
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.gateway.context import Gateway
from streams.log.records import MAX_BYTES
from topology.declarations import Topic

SECONDS = 1.0
"""How long one poll reads."""
_POLL_S = 0.05
_BATCH = 100
"""The most records that are taken at once, since their sizes are only known afterwards."""
Positions = dict[TopicPartition, int]


class Polled(NamedTuple):
    """The events of a poll.  has_more: it stopped before the end that the log had."""

    events: list[Json]
    cursor: str
    truncated: bool
    has_more: bool

    def to_json(self, next_poll_ms: int) -> Json:
        return {
            "events": self.events,
            "cursor": self.cursor,
            "truncated": self.truncated,
            "hasMore": self.has_more,
            "nextPollMs": next_poll_ms,
        }


class Source(NamedTuple):
    """The partitions that an event type rests on.

    topics: by full name.  starts, ends: of each partition, when the poll began.
    """

    topics: Mapping[str, Topic]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    @property
    def partitions(self) -> dict[str, int]:
        """Return the number of partitions of each topic, without prefix."""
        counts = dict.fromkeys((topic.name for topic in self.topics.values()), 0)
        for tp in self.starts:
            counts[self.topics[tp.topic].name] += 1
        return counts


def open_source(log: Log, prefix: str, kind: EventType, arguments: Arguments) -> Source:
    topics = {prefix + topic.name: topic for topic in kind.rests_on(arguments)}
    infos = log.topics()
    tps = [
        TopicPartition(name, number)
        for name in topics
        for number in range(infos[name].partitions if name in infos else 0)
    ]
    return Source(topics, log.starts(tps), log.ends(tps))


def poll(
    gateway: Gateway,
    kind: EventType,
    arguments: Arguments,
    cursor: str | None,
    limit: int,
    oldest_ms: int | None = None,
    *,
    with_cursors: bool = False,
) -> Polled:
    """Return at most `limit` events from a cursor on; without one, none, and the cursor of now.

    oldest_ms: events before this time are left out; the log is read from there, or from the cursor
    if that is later.
    with_cursors: each event has the cursor of what comes after it.
    Raises ToolRefused for a cursor that is none, BrokerUnavailable, ViewNotReady.
    """
    settings = gateway.settings
    source = open_source(gateway.log, settings.prefix, kind, arguments)
    if cursor is None and oldest_ms is None:
        return Polled([], cursor_of(kind, source, source.ends), False, False)
    positions, truncated = _begin(gateway.log, kind, source, cursor, oldest_ms)
    events: list[Json] = []
    with gateway.view.reader() as view:
        for record, place in _read(gateway.log, source, positions, settings.mcp_scan):
            if len(events) == limit:
                break
            positions[TopicPartition(record.topic, record.partition)] = place
            topic = source.topics[record.topic]
            position = f"{topic.name}/{record.partition}/{record.offset}"
            if oldest_ms is not None and record.timestamp < oldest_ms:
                continue  # timestamps of facts need not grow
            data = kind.show(topic, record, position, arguments, view)
            if data is not None:
                event = event_json(kind, record, position, data)
                if with_cursors:
                    event["cursor"] = cursor_of(kind, source, positions)
                events.append(event)
    has_more = any(positions[tp] < end for tp, end in source.ends.items())
    return Polled(events, cursor_of(kind, source, positions), truncated, has_more)


def oldest_of(gateway: Gateway, max_age_ms: int | None) -> int | None:
    """Return the time before which events are left out, in ms since the epoch, never before it."""
    return None if max_age_ms is None else max(0, gateway.clock() - max_age_ms)


def find_begin(
    gateway: Gateway,
    kind: EventType,
    arguments: Arguments,
    cursor: str | None,
    oldest_ms: int | None = None,
) -> tuple[str, bool]:
    """Return the cursor where a stream begins, and whether records before it are gone.

    Without a cursor that is now, or the first record of `oldest_ms` or later.
    Raises ToolRefused for a cursor that is none, BrokerUnavailable.
    """
    source = open_source(gateway.log, gateway.settings.prefix, kind, arguments)
    if cursor is None and oldest_ms is None:
        return cursor_of(kind, source, source.ends), False
    positions, truncated = _begin(gateway.log, kind, source, cursor, oldest_ms)
    return cursor_of(kind, source, positions), truncated


def positions_at(kind: EventType, source: Source, cursor: str) -> Positions:
    """Return the positions of a cursor.  Raises ToolRefused for one that is none of the source."""
    offsets = parse_cursor(cursor, kind.name, source.partitions)
    return {tp: offsets[source.topics[tp.topic].name][tp.partition] for tp in source.starts}


def _begin(
    log: Log, kind: EventType, source: Source, cursor: str | None, oldest_ms: int | None
) -> tuple[Positions, bool]:
    """Return where a cursor goes on, and whether records between are gone or too old."""
    positions, truncated = _begin_kept(kind, source, cursor)
    if oldest_ms is None:
        return positions, truncated
    with log.reader(source.starts) as reader:
        since = reader.first_since(oldest_ms)
    for tp, end in source.ends.items():
        first = min(since.get(tp, end), end)
        truncated = truncated or (cursor is not None and first > positions[tp])
        positions[tp] = max(positions[tp], first)
    return positions, truncated


def _begin_kept(kind: EventType, source: Source, cursor: str | None) -> tuple[Positions, bool]:
    """Return where a cursor goes on among what is kept, and whether records between are gone."""
    if cursor is None:
        return dict(source.starts), False
    offsets = positions_at(kind, source, cursor)
    positions: Positions = {}
    truncated = False
    for tp, start in source.starts.items():
        offset = offsets[tp]
        position = start if offset < start else min(offset, source.ends[tp])
        truncated = truncated or position != offset
        positions[tp] = position
    return positions, truncated


def _read(
    log: Log, source: Source, positions: Positions, limit: int
) -> Iterator[tuple[Record, int]]:
    """Yield the records up to the ends, by time among partitions, with the offset behind each.

    They are at most `limit`, and fewer where their values are large.
    Behind the last record of a partition come what is no record, markers and what was aborted.
    """
    unread = {tp: at for tp, at in positions.items() if at < source.ends[tp]}
    if not unread:
        return
    queues: dict[TopicPartition, deque[Record]] = {tp: deque() for tp in unread}
    deadline, count, size = time.monotonic() + SECONDS, 0, 0
    with log.reader(unread) as reader:
        while count < limit and size < MAX_BYTES and time.monotonic() < deadline:
            for record in reader.poll(_POLL_S, min(_BATCH, limit - count)):
                tp = TopicPartition(record.topic, record.partition)
                if record.offset < source.ends[tp]:
                    queues[tp].append(record)
                    count, size = count + 1, size + len(record.value or b"")
            if all(reader.position(tp) >= source.ends[tp] for tp in unread):
                break
        behind = {tp: min(reader.position(tp), source.ends[tp]) for tp in unread}
    for tp, queue in queues.items():
        if not queue:
            positions[tp] = behind[tp]
    yield from merge(queues, behind)


def merge(
    queues: Mapping[TopicPartition, deque[Record]], behind: Mapping[TopicPartition, int]
) -> Iterator[tuple[Record, int]]:
    """Yield records by append time, topic and partition; in a partition by offset."""
    heads = [(queue[0].timestamp, tp) for tp, queue in queues.items() if queue]
    heapq.heapify(heads)
    while heads:
        _, tp = heapq.heappop(heads)
        queue = queues[tp]
        record = queue.popleft()
        yield record, record.offset + 1 if queue else behind[tp]
        if queue:
            heapq.heappush(heads, (queue[0].timestamp, tp))


def event_json(kind: EventType, record: Record, position: str, data: Json) -> Json:
    return {
        "eventId": position,
        "name": kind.name,
        "timestamp": iso_ms(record.timestamp),
        "data": data,
    }


def cursor_of(kind: EventType, source: Source, positions: Mapping[TopicPartition, int]) -> str:
    offsets: dict[str, list[int]] = {name: [0] * n for name, n in source.partitions.items()}
    for tp, position in positions.items():
        offsets[source.topics[tp.topic].name][tp.partition] = position
    return write_cursor(kind.name, offsets)
