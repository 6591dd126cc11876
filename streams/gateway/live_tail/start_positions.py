"""Start positions of clients in the topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.gateway.live_tail.catch_up import CatchUp
from streams.gateway.live_tail.session_index import SessionIndex
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

OffsetQuery = Callable[[Sequence[TopicPartition]], dict[TopicPartition, int]]


class TailRequest(NamedTuple):
    """The request of one client.  start: earliest or latest, used if there is no cursor."""

    filters: Filters
    start: str = LATEST
    cursor: str | None = None


class StartPositions:
    """Start positions in one topic; all methods but `start_at` and `feed` block.

    Raises CursorInvalid, CursorExpired, CursorAhead, BrokerUnavailable.
    """

    def __init__(self, log: Log, topic: str, partitions: int) -> None:
        self._log = log
        self._tps = [TopicPartition(topic, number) for number in range(partitions)]
        self._indexes = [SessionIndex(log, tp) for tp in self._tps]

    def start_at(self, filters: Filters, positions: Mapping[int, int]) -> CatchUp:
        """Start at known offsets."""
        log_position = OffsetPosition(positions)
        return CatchUp(self._log, self._tps[0].topic, filters, log_position, positions)

    def start_by_offsets(self, request: TailRequest) -> CatchUp:
        """Start at the earliest records, or after a cursor of partitions and offsets."""
        cursor_offsets = None if request.cursor is None else parse_offsets(request.cursor)
        positions = self._read_offsets(self._log.starts)
        if cursor_offsets is not None:
            positions = check_offsets(cursor_offsets, positions, self._read_offsets(self._log.ends))
        return self.start_at(request.filters, positions)

    def start_in_session(self, request: TailRequest, session_id: str) -> CatchUp:
        """Start in a session, whose cursor is a sequence; look up its offset in the index."""
        sequence = 0 if request.start == EARLIEST else None
        if request.cursor is not None:
            sequence = parse_sequence(request.cursor, session_id)
        number = partition_of(session_id.encode(), len(self._tps))
        session = self._indexes[number].find(session_id.encode(), sequence)
        if request.cursor is not None and sequence is not None:
            check_sequence(session_id, sequence, session.first, session.last, session.truncated)
        before = (session.first or 1) - 1
        log_position = SequencePosition(
            session_id, session.last if sequence is None else max(sequence, before)
        )
        begins = {number: session.position}
        return CatchUp(self._log, self._tps[0].topic, request.filters, log_position, begins)

    def feed(self, number: int, records: Sequence[Record], begin: int, end: int) -> None:
        """Add records that were read of a partition, from `begin` to before `end`, to its index."""
        self._indexes[number].feed(records, begin, end)

    def _read_offsets(self, ask: OffsetQuery) -> dict[int, int]:
        return {tp.partition: offset for tp, offset in ask(self._tps).items()}
