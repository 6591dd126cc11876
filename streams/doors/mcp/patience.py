"""Bounds how long the client of a stream may take nothing before the stream is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

PATIENCE_S = 10.0


class Gone(Exception):
    """The end of a stream.  detail: what the client is told; None for one that takes nothing."""

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail


class Patience:
    """Bounds each send of one stream, by one timer: one for each would cost as much as most sends.

    The timer is set when something is sent and none is set, and looks whether that send, or a later
    one, has taken too long.
    """

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._has_cancelled = False

    async def send(self, sending: Awaitable[None]) -> None:
        """Wait until something is sent.  Raises Gone if the client takes nothing."""
        self._task, self._since = asyncio.current_task(), self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_at(self._since + self._seconds, self._look)
        try:
            await sending
        except asyncio.CancelledError:
            if self._take_back():
                raise Gone from None
            raise
        finally:
            self._since = None

    def _look(self) -> None:
        self._timer = None
        if self._since is None or self._task is None:
            return
        due = self._since + self._seconds
        if self._loop.time() >= due:
            self._has_cancelled = self._task.cancel()
        else:
            self._timer = self._loop.call_at(due, self._look)

    def _take_back(self) -> bool:
        """Return whether the cancellation was this one's alone, and take it back then."""
        has_cancelled, self._has_cancelled = self._has_cancelled, False
        return has_cancelled and self._task is not None and not self._task.uncancel()
