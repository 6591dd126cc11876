"""Where a client begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.gateway.sse.catch_up import CatchUp
from streams.gateway.sse.session_index import SessionIndex
from streams.log.cursors import (
    EARLIEST,
    LATEST,
    check_offsets,
    check_sequence,
    parse_offsets,
    parse_sequence,
)
from streams.log.filters import Filters
from streams.log.tail_positions import OffsetPosition, SequencePosition
from topology.keys import partition_of

Ask = Callable[[Sequence[TopicPartition]], dict[TopicPartition, int]]


class Wanted(NamedTuple):
    """start: earliest or latest, where no cursor is given."""

    filters: Filters
    start: str = LATEST
    cursor: str | None = None


class Beginnings:
    """Of one topic as it is; its calls block, but for `at` and `feed`.

    Raises CursorInvalid, CursorExpired, CursorAhead, BrokerUnavailable.
    """

    def __init__(self, log: Log, topic: str, partitions: int) -> None:
        self._log = log
        self._tps = [TopicPartition(topic, number) for number in range(partitions)]
        self._indexes = [SessionIndex(log, tp) for tp in self._tps]

    def at(self, filters: Filters, positions: Mapping[int, int]) -> CatchUp:
        """At a place that is known."""
        place = OffsetPosition(positions)
        return CatchUp(self._log, self._tps[0].topic, filters, place, positions)

    def by_offsets(self, wanted: Wanted) -> CatchUp:
        """From the earliest record, or behind a cursor of partitions."""
        given = None if wanted.cursor is None else parse_offsets(wanted.cursor)
        positions = self._ask(self._log.starts)
        if given is not None:
            positions = check_offsets(given, positions, self._ask(self._log.ends))
        return self.at(wanted.filters, positions)

    def of_session(self, wanted: Wanted, session_id: str) -> CatchUp:
        """The only one whose place is a sequence; where that lies is looked up."""
        sequence = 0 if wanted.start == EARLIEST else None
        if wanted.cursor is not None:
            sequence = parse_sequence(wanted.cursor, session_id)
        number = partition_of(session_id.encode(), len(self._tps))
        found = self._indexes[number].find(session_id.encode(), sequence)
        if wanted.cursor is not None and sequence is not None:
            check_sequence(session_id, sequence, found.first, found.last, found.truncated)
        before = (found.first or 1) - 1
        place = SequencePosition(
            session_id, found.last if sequence is None else max(sequence, before)
        )
        begins = {number: found.position}
        return CatchUp(self._log, self._tps[0].topic, wanted.filters, place, begins)

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None:
        """What was read of a partition anyway, from begin to before end."""
        self._indexes[number].feed(records, begin, end)

    def _ask(self, ask: Ask) -> dict[int, int]:
        return {tp.partition: offset for tp, offset in ask(self._tps).items()}
