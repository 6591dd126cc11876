"""A reader that follows one topic, decoded and read_committed, with a cursor to resume from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from streams.engine.log import Log, Pace
from streams.engine.records import Record, TopicPartition
from streams.errors import TopicsMismatch
from streams.log.cursors import (
    EARLIEST,
    LATEST,
    CursorAhead,
    CursorExpired,
    CursorInvalid,
    check_offsets,
    check_sequence,
    parse_offsets,
    parse_sequence,
)
from streams.log.filters import Filters
from streams.log.record_json import value_json
from streams.log.tail_positions import LogPosition, OffsetPosition, SequencePosition
from topology.declarations import Topic
from topology.keys import partition_of
from topology.saop import RTES_EVENTS
from topology.topics import full_name

__all__ = ["CursorAhead", "CursorExpired", "CursorInvalid", "Filters", "Observation", "Tail"]

_POLL_S = 0.1


class Observation(NamedTuple):
    """A record that passed the filters, and its value as JSON."""

    record: Record
    value: Any


class Tail:
    """One reader of one topic.  start: `earliest`, `latest` or a cursor.

    Raises CursorInvalid, CursorExpired, CursorAhead.
    """

    def __init__(
        self, log: Log, topic: Topic, prefix: str, filters: Filters, start: str = LATEST
    ) -> None:
        self._topic = topic
        self._filters = filters
        info = log.topics().get(full_name(topic, prefix))
        if info is None:
            raise TopicsMismatch(f"topic {full_name(topic, prefix)} is missing")
        session_id = filters.session_id if topic is RTES_EVENTS else None
        tps = [
            TopicPartition(info.name, n) for n in _partition_numbers(session_id, info.partitions)
        ]
        starts, self.ends = log.starts(tps), log.ends(tps)
        self._truncated = any(starts.values())
        self._resumed = False
        self._skips_existing = session_id is not None and start == LATEST
        self._first: int | None = None
        self._last = 0
        self._tail_position: LogPosition
        if session_id is None:
            positions = _start_positions(start, _by_number(starts), _by_number(self.ends))
            self._tail_position = OffsetPosition(positions)
            start_positions = {tp: positions[tp.partition] for tp in tps}
        else:
            self._resumed = start not in (EARLIEST, LATEST)
            sequence = parse_sequence(start, session_id) if self._resumed else 0
            self._tail_position = SequencePosition(session_id, sequence)
            start_positions = starts
        self._reader = log.reader(start_positions, Pace.LIVE)

    def follow(
        self,
        until_end: bool,
        stopped: Callable[[], bool] = lambda: False,
        on_idle: Callable[[], None] = lambda: None,
        on_batch: Callable[[], None] = lambda: None,
    ) -> Iterator[Observation]:
        """Yield records that pass the filters, with `until_end` only up to the initial ends.

        When `stopped` returns True it ends after a record, and the cursor resumes with the next.
        on_idle: called when no further record has arrived for a moment.
        on_batch: called after the records that arrived together.
        Raises CursorAhead for a session that has not come as far as the cursor, CursorExpired
        for one whose next record is deleted.
        """
        while not stopped():
            records = self._reader.poll(_POLL_S)
            if not records:
                on_idle()
            for record in records:
                if stopped():
                    return
                if until_end and record.offset >= self.ends[_tp(record)]:
                    continue
                if (seen := self._accept(record)) is not None:
                    yield seen
            if records:
                on_batch()
            if all(self._reader.position(tp) >= end for tp, end in self.ends.items()):
                self._check_reached()
                if until_end:
                    return

    def _check_reached(self) -> None:
        if isinstance(self._tail_position, SequencePosition):
            position, truncated = self._tail_position, self._truncated
            check_sequence(
                position.session_id, position.sequence, self._first, self._last, truncated
            )

    def _accept(self, record: Record) -> Observation | None:
        if not self._tail_position.may_hold(record.key):
            return None
        value = value_json(self._topic, record)
        if isinstance(self._tail_position, SequencePosition):
            self._track_sequence(self._tail_position, value["sequence"])
        if not self._tail_position.see(record.partition, record.offset, value):
            return None
        if self._skips_existing and record.offset < self.ends[_tp(record)]:
            return None
        return Observation(record, value) if self._filters.fit(record, value) else None

    def _track_sequence(self, position: SequencePosition, sequence: int) -> None:
        if self._first is None:
            self._first = sequence
            if self._resumed:
                check_sequence(
                    position.session_id, position.sequence, sequence, position.sequence, True
                )
        self._last = max(self._last, sequence)

    def cursor(self) -> str:
        """Return the cursor to resume from."""
        return self._tail_position.cursor()

    def close(self) -> None:
        self._reader.close()


def _partition_numbers(session_id: str | None, partitions: int) -> Sequence[int]:
    """Return the partitions to read.

    Facts are on the partition of their cause, so a session's events are on one.
    """
    return (
        range(partitions) if session_id is None else [partition_of(session_id.encode(), partitions)]
    )


def _start_positions(
    start: str, starts: Mapping[int, int], ends: Mapping[int, int]
) -> Mapping[int, int]:
    if start in (EARLIEST, LATEST):
        return starts if start == EARLIEST else ends
    return check_offsets(parse_offsets(start), starts, ends)


def _by_number(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {tp.partition: offset for tp, offset in offsets.items()}


def _tp(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
