"""The heartbeats of a stream, which are due after some time without anything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Heartbeat:
    """Wakes a stream that was silent for some seconds.

    The timer goes on when something is sent, and is set anew when it goes off too early: that is
    cheaper for streams that send a lot.
    """

    def __init__(self, seconds: float, wake: Callable[[], None]) -> None:
        self._seconds, self._wake = seconds, wake
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._go_off)

    def restart(self) -> None:
        """Begin to wait anew, since something was sent."""
        self._due = self._loop.time() + self._seconds

    def is_due(self) -> bool:
        return self._loop.time() >= self._due

    def close(self) -> None:
        self._timer.cancel()

    def _go_off(self) -> None:
        next_at = self._due
        if self.is_due():
            self._wake()
            next_at = self._loop.time() + self._seconds
        self._timer = self._loop.call_at(next_at, self._go_off)
