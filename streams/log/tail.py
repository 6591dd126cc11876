"""Following one topic, decoded and read_committed, with a cursor to go on from."""

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
from streams.log.places import OffsetPlace, Place, SequencePlace
from streams.log.record_json import value_json
from topology.declarations import Topic
from topology.keys import partition_of
from topology.saop import RTES_EVENTS
from topology.topics import full_name

__all__ = ["CursorAhead", "CursorExpired", "CursorInvalid", "Filters", "Seen", "Tail"]

_POLL_S = 0.1


class Seen(NamedTuple):
    """A record that passed the filters, and its value as JSON."""

    record: Record
    value: Any


class Tail:
    """One reader of one topic.  start: earliest, latest or a cursor.

    Raises CursorInvalid, CursorExpired, CursorAhead.
    """

    def __init__(
        self, log: Log, topic: Topic, prefix: str, filters: Filters, start: str = LATEST
    ) -> None:
        self._topic = topic
        self._filters = filters
        there = log.topics().get(full_name(topic, prefix))
        if there is None:
            raise TopicsMismatch(f"topic {full_name(topic, prefix)} is missing")
        session_id = filters.session_id if topic is RTES_EVENTS else None
        tps = [TopicPartition(there.name, n) for n in _numbers(session_id, there.partitions)]
        starts, self.ends = log.starts(tps), log.ends(tps)
        self._truncated = any(starts.values())
        self._resumed = False
        self._silent = session_id is not None and start == LATEST
        self._first: int | None = None
        self._highest = 0
        self._place: Place
        if session_id is None:
            positions = _begin(start, _by_number(starts), _by_number(self.ends))
            self._place = OffsetPlace(positions)
            begins = {tp: positions[tp.partition] for tp in tps}
        else:
            self._resumed = start not in (EARLIEST, LATEST)
            sequence = parse_sequence(start, session_id) if self._resumed else 0
            self._place = SequencePlace(session_id, sequence)
            begins = starts
        self._reader = log.reader(begins, Pace.LIVE)

    def follow(
        self, until_end: bool, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Seen]:
        """Records that pass the filters; with until_end up to the ends that the topic had first.

        When `stopped` says so it ends behind a record, and the cursor goes on with the next.
        Raises CursorAhead for a session that has not come as far as the cursor, CursorExpired
        for one whose next record is not kept any more.
        """
        while not stopped():
            for record in self._reader.poll(_POLL_S):
                if stopped():
                    return
                if until_end and record.offset >= self.ends[_tp(record)]:
                    continue
                if (seen := self._look(record)) is not None:
                    yield seen
            if all(self._reader.position(tp) >= end for tp, end in self.ends.items()):
                self._check_reached()
                if until_end:
                    return

    def _check_reached(self) -> None:
        if isinstance(self._place, SequencePlace):
            place, truncated = self._place, self._truncated
            check_sequence(place.session_id, place.sequence, self._first, self._highest, truncated)

    def _look(self, record: Record) -> Seen | None:
        if not self._place.may_hold(record.key):
            return None
        value = value_json(self._topic, record)
        if isinstance(self._place, SequencePlace):
            self._note(self._place, value["sequence"])
        if not self._place.see(record.partition, record.offset, value):
            return None
        if self._silent and record.offset < self.ends[_tp(record)]:
            return None
        return Seen(record, value) if self._filters.fit(record, value) else None

    def _note(self, place: SequencePlace, sequence: int) -> None:
        if self._first is None:
            self._first = sequence
            if self._resumed:
                check_sequence(place.session_id, place.sequence, sequence, place.sequence, True)
        self._highest = max(self._highest, sequence)

    def cursor(self) -> str:
        """Where to go on."""
        return self._place.cursor()

    def close(self) -> None:
        self._reader.close()


def _numbers(session_id: str | None, partitions: int) -> Sequence[int]:
    """Facts lie on the partition of what caused them, so a session's events lie on one."""
    return (
        range(partitions) if session_id is None else [partition_of(session_id.encode(), partitions)]
    )


def _begin(start: str, starts: Mapping[int, int], ends: Mapping[int, int]) -> Mapping[int, int]:
    if start in (EARLIEST, LATEST):
        return starts if start == EARLIEST else ends
    return check_offsets(parse_offsets(start), starts, ends)


def _by_number(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {tp.partition: offset for tp, offset in offsets.items()}


def _tp(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
