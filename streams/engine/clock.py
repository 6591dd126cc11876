"""The clock by which a worker fires timers: its machine's, as far as the log bears it out.

Deadlines are times of the log (the brokers' append times), and a timer that fires before its time
cannot be called back.  So a step forward of the machine's clock is taken on only as far as time
has really passed or as records have come whose append time says so; one that is right is thus
taken on with the next record.  A step back is taken on at once, for late is better than wrong,
but never to before a time on which the machine and the log have once agreed.  The log alone, a
broker whose clock is ahead, moves nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

_STEP_MS = 500
_FAR_MS = 1 << 60
_SLEPT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where there is such a clock."""


def wall_ms() -> int:
    """Milliseconds since the epoch, by this machine."""
    return time.time_ns() // 1_000_000


def passed_ms() -> int:
    """Milliseconds since some moment; never steps."""
    return time.clock_gettime_ns(_SLEPT) // 1_000_000


class WorkerClock:
    """Call it for milliseconds since the epoch.  Any thread may."""

    def __init__(
        self, wall: Callable[[], int] = wall_ms, passed: Callable[[], int] = passed_ms
    ) -> None:
        self._wall, self._passed = wall, passed
        self._offset = wall() - passed()  # what is trusted, less what has passed
        self._least = self._offset - _FAR_MS  # by the log and the machine
        self._told = False

    def __call__(self) -> int:
        passed = self._passed()
        offset = self._wall() - passed
        ahead = offset - self._offset
        if ahead < 0:
            self._offset = max(offset, self._least)
        stepped = abs(ahead) > _STEP_MS
        if stepped and not self._told:
            log.warning("this clock was set by %+d ms, or is wrong: timers go by the log", ahead)
        self._told = stepped
        return passed + self._offset

    def heard(self, append_time: int) -> None:
        """The log has a record of this time, so it is not earlier now."""
        self._least = max(self._least, min(append_time, self._wall()) - self._passed())
        self._offset = max(self._offset, self._least)
