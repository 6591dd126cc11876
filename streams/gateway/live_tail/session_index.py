"""An index of the offsets of each session's records in one partition of `rtes.events`.

A session's cursor names a sequence, but Kafka finds records by offset.  Sequences have no gaps, so
it is enough to count the records of each key and to store the offset of every 64th.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable
from streams.gateway.live_tail.events import TOPIC
from streams.log.record_json import value_json

STRIDE = 64
MAX_SESSIONS = 200_000
_PATIENCE_S = 10.0


class SessionRange(NamedTuple):
    """The stored records of a session.

    first, last: sequences of the earliest and the latest record; None and 0 if there is none.
    position: the offset to read from for the records after the requested sequence.
    truncated: earlier records of the partition were deleted.
    """

    first: int | None
    last: int
    position: int
    truncated: bool


class _Session:
    """The record count and offsets of one session.  whole: counted from its earliest record on."""

    __slots__ = ("count", "first", "marks", "whole")

    def __init__(self, first: int, whole: bool) -> None:
        self.first = first
        self.whole = whole
        self.count = 0
        self.marks = array("q")

    def add(self, offset: int) -> None:
        if self.count % STRIDE == 0:
            self.marks.append(offset)
        self.count += 1


class SessionIndex:
    """The index, built by the first `find`, which reads the partition; `feed` keeps it up to date.

    Beyond max_sessions the session without a record for the longest time is evicted; `find` reads
    the log again for it.
    """

    def __init__(self, log: Log, tp: TopicPartition, max_sessions: int = MAX_SESSIONS) -> None:
        self._log = log
        self._tp = tp
        self._max_sessions = max_sessions
        self._lock = threading.Lock()
        self._start = self._position = -1
        self._sessions: dict[bytes, _Session] = {}
        self._evicted = False

    def find(self, key: bytes, sequence: int | None) -> SessionRange:
        """Return the range of a session after reading the log to its end.

        sequence: the last one seen, 0 for none; None for the session's latest.  Raises
        BrokerUnavailable.
        """
        with self._lock:
            start, end = (
                self._log.starts([self._tp])[self._tp],
                self._log.ends([self._tp])[self._tp],
            )
            if start != self._start or self._position > end:
                self._reset(start)
            self._read(self._position, end, None)
            session = self._sessions.get(key)
            if not session.whole if session else self._evicted:
                self._sessions.pop(key, None)
                self._read(self._start, self._position, key)
                session = self._sessions.get(key)
            position, truncated = self._position, start > 0
            if session is None:
                return SessionRange(None, 0, position, truncated)
            last = session.first + session.count - 1
            if sequence is not None and sequence < last:
                position = session.marks[max(0, sequence + 1 - session.first) // STRIDE]
            return SessionRange(session.first, last, position, truncated)

    def feed(self, records: Iterable[Record], begin: int, end: int) -> None:
        """Index records read elsewhere, from `begin` to before `end`; never wait for the lock."""
        if self._position < 0 or not self._lock.acquire(blocking=False):
            return
        try:
            if begin <= self._position < end:
                for record in records:
                    self._index_record(record)
                self._position = end
        finally:
            self._lock.release()

    def _reset(self, start: int) -> None:
        self._start = self._position = start
        self._sessions.clear()
        self._evicted = False

    def _read(self, begin: int, end: int, only: bytes | None) -> None:
        """Index the records from `begin` to before `end`; with `only`, those of that key alone."""
        if begin >= end:
            return
        with self._log.reader({self._tp: begin}) as reader:
            position, deadline = begin, time.monotonic() + _PATIENCE_S
            while position < end:
                for record in reader.poll(0.1):
                    if only in (None, record.key) and record.offset < end:
                        self._index_record(record, only is None)
                now = reader.position(self._tp)
                if now > position:
                    position, deadline = now, time.monotonic() + _PATIENCE_S
                elif time.monotonic() > deadline:
                    raise BrokerUnavailable(f"{self._tp.topic} cannot be read to its end")
        self._position = max(self._position, end)

    def _index_record(self, record: Record, forward: bool = True) -> None:
        if forward and record.offset < self._position:
            return
        key = record.key or b""
        session = self._sessions.pop(key, None)
        if session is None:
            value = value_json(TOPIC, record)
            first = value.get("sequence") if isinstance(value, dict) else None
            if first is None:  # an unreadable record is no event of the session
                return
            session = _Session(first, first == 1 or not (forward and self._evicted))
        session.add(record.offset)
        self._sessions[key] = session
        if len(self._sessions) > self._max_sessions:
            del self._sessions[next(iter(self._sessions))]
            self._evicted = True
