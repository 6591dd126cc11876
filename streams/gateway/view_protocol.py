"""The protocol of the view that a gateway reads: it follows the log by itself."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol

from streams.engine.records import Record
from streams.views.positions import Position
from streams.views.reads import ReadOnlyStore
from streams.views.status import ViewStats, ViewStatus


class ViewProtocol(Protocol):
    """A view that follows the log.  `streams.view_store.live.LiveView` implements it."""

    def status(self) -> ViewStatus:
        """Return the state of the view; never blocks."""

    def stats(self) -> ViewStats:
        """Return the counters of the view; never blocks."""

    def reader(self) -> AbstractContextManager[ReadOnlyStore]:
        """Open a snapshot.  Raises errors.ViewNotReady."""

    def recent_fact(self, position: Position) -> Record | None:
        """Return the fact at a position if it is among the last that were read; never blocks."""

    async def wait_async(self, position: Position, timeout_s: float) -> None:
        """Wait until readers see what was written with the verdict on the record at the position.

        Raises errors.ViewNotReady, ViewBehind.
        """

    async def wait_for_ends(self, timeout_s: float) -> None:
        """Wait until readers see everything that the topics hold now.

        Raises errors.ViewNotReady, ViewBehind.
        """

    def awaiting(self, row: bytes) -> AbstractContextManager[Future[None]]:
        """Yield a future that is done once that row of the view is written; never blocks."""

    def awaiting_any(self, prefix: bytes) -> AbstractContextManager[Future[None]]:
        """Yield a future that is done once a row whose key begins so is written; never blocks."""
