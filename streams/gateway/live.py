"""What a gateway stands on: a view that follows the log by itself, and streams of events."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol

from streams.views.positions import Position
from streams.views.reads import ReadOnlyStore
from streams.views.status import ViewStats, ViewStatus


class Live(Protocol):
    """`streams.views.LiveView` is one."""

    def status(self) -> ViewStatus:
        """Never blocks."""

    def stats(self) -> ViewStats:
        """Never blocks."""

    def reader(self) -> AbstractContextManager[ReadOnlyStore]:
        """One snapshot.  Raises errors.ViewNotReady."""

    async def wait_async(self, position: Position, timeout_s: float) -> None:
        """Raises errors.ViewNotReady, ViewBehind."""

    def awaiting(self, row: bytes) -> AbstractContextManager[Future[None]]:
        """Done once that row of the view is written; never blocks."""
