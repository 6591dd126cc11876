"""Where the records of each session lie on one partition of `rtes.events`.

The cursor of a session names a sequence, and Kafka finds records by offset.  Sequences have no
gaps, so it is enough to count the records of each key, and to note the offset of every 64th.
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
from streams.gateway.sse.topic import TOPIC
from streams.log.record_json import value_json

STRIDE = 64
MOST_SESSIONS = 200_000
_PATIENCE_S = 10.0


class Standing(NamedTuple):
    """first, last: sequences of the earliest and the latest record kept; None, 0: none is.
    position: where to begin to read what comes after the sequence asked for.
    truncated: earlier records of the partition were deleted.
    """

    first: int | None
    last: int
    position: int
    truncated: bool


class _Session:
    """whole: counted from its earliest record on."""

    __slots__ = ("count", "first", "marks", "whole")

    def __init__(self, first: int, whole: bool) -> None:
        self.first = first
        self.whole = whole
        self.count = 0
        self.marks = array("q")

    def note(self, offset: int) -> None:
        if self.count % STRIDE == 0:
            self.marks.append(offset)
        self.count += 1


class SessionIndex:
    """Made by reading the partition once, when it is first asked; then kept up by `feed`.

    Sessions beyond most_sessions, the longest unheard of first, are forgotten and read for again.
    """

    def __init__(self, log: Log, tp: TopicPartition, most_sessions: int = MOST_SESSIONS) -> None:
        self._log = log
        self._tp = tp
        self._most = most_sessions
        self._lock = threading.Lock()
        self._start = self._position = -1
        self._sessions: dict[bytes, _Session] = {}
        self._forgot = False

    def find(self, key: bytes, sequence: int | None) -> Standing:
        """sequence: the last one seen, 0 for none; None for the session's latest.

        Reads the log as far as it goes now.  Raises BrokerUnavailable.
        """
        with self._lock:
            start, end = (
                self._log.starts([self._tp])[self._tp],
                self._log.ends([self._tp])[self._tp],
            )
            if start != self._start or self._position > end:
                self._begin(start)
            self._read(self._position, end, None)
            session = self._sessions.get(key)
            if not session.whole if session else self._forgot:
                self._sessions.pop(key, None)
                self._read(self._start, self._position, key)
                session = self._sessions.get(key)
            position, truncated = self._position, start > 0
            if session is None:
                return Standing(None, 0, position, truncated)
            last = session.first + session.count - 1
            if sequence is not None and sequence < last:
                position = session.marks[max(0, sequence + 1 - session.first) // STRIDE]
            return Standing(session.first, last, position, truncated)

    def feed(self, records: Iterable[Record], begin: int, end: int) -> None:
        """What was read anyway, from begin to before end; it is never waited for."""
        if self._position < 0 or not self._lock.acquire(blocking=False):
            return
        try:
            if begin <= self._position < end:
                for record in records:
                    self._note(record)
                self._position = end
        finally:
            self._lock.release()

    def _begin(self, start: int) -> None:
        self._start = self._position = start
        self._sessions.clear()
        self._forgot = False

    def _read(self, begin: int, end: int, only: bytes | None) -> None:
        """Note what lies there; with `only` the records of that key alone."""
        if begin >= end:
            return
        with self._log.reader({self._tp: begin}) as reader:
            position, deadline = begin, time.monotonic() + _PATIENCE_S
            while position < end:
                for record in reader.poll(0.1):
                    if only in (None, record.key) and record.offset < end:
                        self._note(record, only is None)
                now = reader.position(self._tp)
                if now > position:
                    position, deadline = now, time.monotonic() + _PATIENCE_S
                elif time.monotonic() > deadline:
                    raise BrokerUnavailable(f"{self._tp.topic} cannot be read to its end")
        self._position = max(self._position, end)

    def _note(self, record: Record, forward: bool = True) -> None:
        if forward and record.offset < self._position:
            return
        key = record.key or b""
        session = self._sessions.pop(key, None)
        if session is None:
            value = value_json(TOPIC, record)
            first = value.get("sequence") if isinstance(value, dict) else None
            if first is None:  # nobody can read it, and it is no event of the session
                return
            session = _Session(first, first == 1 or not (forward and self._forgot))
        session.note(record.offset)
        self._sessions[key] = session
        if len(self._sessions) > self._most:
            del self._sessions[next(iter(self._sessions))]
            self._forgot = True
