"""The clock that fires a worker's timers: the machine's clock, checked against the log.

Deadlines are append times set by the brokers, and a timer that has fired too early cannot be
undone.  So when the machine's clock steps forward, this clock follows only as far as time has
passed or as append times of records confirm; a correct step is thus adopted with the next record.
It follows a step back at once, because late is better than wrong, but never to before a time on
which the machine and the log have agreed.  The log alone (a broker whose clock is ahead) moves
nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

_STEP_MS = 500
_UNBOUNDED_MS = 1 << 60
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that runs on while the machine sleeps, where there is one."""


def wall_ms() -> int:
    """Return the machine's time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return milliseconds since an arbitrary moment, from a clock that never steps."""
    return time.clock_gettime_ns(_CLOCK) // 1_000_000


class WorkerClock:
    """A callable that returns milliseconds since the epoch; any thread may call it."""

    def __init__(
        self, wall: Callable[[], int] = wall_ms, monotonic: Callable[[], int] = monotonic_ms
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._offset = wall() - monotonic()  # trusted time minus monotonic time
        self._min_offset = self._offset - _UNBOUNDED_MS  # agreed by the log and the machine
        self._warned = False

    def __call__(self) -> int:
        now = self._monotonic()
        offset = self._wall() - now
        ahead = offset - self._offset
        if ahead < 0:
            self._offset = max(offset, self._min_offset)
        stepped = abs(ahead) > _STEP_MS
        if stepped and not self._warned:
            log.warning("this clock was set by %+d ms, or is wrong: timers go by the log", ahead)
        self._warned = stepped
        return now + self._offset

    def observe_append_time(self, append_time: int) -> None:
        """Note an append time; this clock is then not behind it, unless the machine's is."""
        self._min_offset = max(self._min_offset, min(append_time, self._wall()) - self._monotonic())
        self._offset = max(self._offset, self._min_offset)
