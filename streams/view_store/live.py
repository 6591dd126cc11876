"""A view that keeps itself up to date and serves concurrent queries.

One thread applies records (`keeper`), another queries the broker (`watch`). Queries read a
snapshot, in any thread.  A store that is missing, damaged or deleted, or that the log no longer
continues, is rebuilt; until it is complete no query is answered.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streams.engine.log import Log
from streams.engine.records import Record
from streams.errors import HeadraceError, StoreFailed, ViewNotReady
from streams.settings import Settings
from streams.view_store.end_offsets import EndOffsetPoller
from streams.view_store.keeper import ViewThread
from streams.view_store.offset_waiters import OffsetWaiters
from streams.view_store.row_waiters import RowWaiters
from streams.view_store.view import checks_of
from streams.views.positions import Position, ViewBehind
from streams.views.reads import ReadOnlyStore, SnapshotRows
from streams.views.status import ViewStats, ViewStatus
from streams.views.suspended import SuspendedQueries

if TYPE_CHECKING:
    from streams.view_store.transparency import TransparencyLog

SWITCH_S = 0.0005
"""How long the applying thread may hold the interpreter while query threads wait."""

_log = logging.getLogger("streams.views.live")


class LiveView:
    """A view with its own threads.

    log: read by the threads of this view.  path: its directory; the rows are in `rows` there.
    settings: the prefix, `view_set_aside` and those of MACs are used.  clock: ms since the epoch.
    transparency: the transparency log that it follows too, if there is one.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        settings: Settings,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        transparency: TransparencyLog | None = None,
    ) -> None:
        self._waiters, self._awaiting, self._clock = OffsetWaiters(), RowWaiters(), clock
        self._watch = EndOffsetPoller(log, self._waiters, clock)
        self._keeper = ViewThread(
            log,
            path,
            settings.prefix,
            clock,
            self._waiters,
            self._watch,
            self._awaiting,
            settings.view_set_aside,
            transparency,
            checks_of(settings),
        )
        self._threads: list[threading.Thread] = []
        self._suspended = SuspendedQueries(time.monotonic)
        self._stopped = False

    def start(self) -> None:
        """Start the threads.  Raises StateLocked if another process has the directory."""
        if self._threads or self._stopped:
            return
        self._keeper.lock()
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
        for name, work in (("apply", self._keeper.run), ("watch", self._watch.run)):
            thread = threading.Thread(target=self._run_guarded, args=(work,), name=f"view-{name}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()

    def _run_guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as exc:
            _log.exception("the view has failed")
            reason = exc.message if isinstance(exc, HeadraceError) else repr(exc)
            self._keeper.fail(reason)
            self._waiters.close(self._not_ready())
            self._awaiting.close(self._not_ready())

    def stop(self) -> None:
        """Flush and close for good; pending waits raise ViewNotReady."""
        self._stopped = True
        self._keeper.stop()
        self._watch.stop()
        self._waiters.close(ViewNotReady("the view is stopped"))
        self._awaiting.close(ViewNotReady("the view is stopped"))
        for thread in self._threads:
            thread.join()
        self._keeper.release()

    def status(self) -> ViewStatus:
        """Return the status, without a request to the broker."""
        state, since_ms, reason = self._keeper.state
        view, latest = self._watch.view, self._watch.latest
        lag = 0 if view is None or latest is None else view.short_of(latest.ends)
        if state != "failed":
            reason = self._watch.trouble() or reason
        since = self._watch.behind_since() if lag else None
        behind_ms = 0 if since is None else max(0, self._clock() - since)
        return ViewStatus(state, lag, self.stats().applied, since_ms, reason, behind_ms)

    def stats(self) -> ViewStats:
        """Return the statistics; they are at most a second old."""
        return self._keeper.stats

    def lag(self) -> int:
        return self.status().lag

    @contextmanager
    def reader(self) -> Iterator[ReadOnlyStore]:
        """Open a snapshot of all current rows.

        Raises ViewNotReady while there is no complete store, also if that is detected inside the
        context.
        """
        view = self._keeper.serving
        if view is None:
            raise self._not_ready()
        reads = None
        try:
            reads = SnapshotRows(view.snapshot(), self._suspended)
            yield reads
        except StoreFailed as exc:
            self._keeper.report(exc.message)
            raise ViewNotReady("the copy cannot be read; it is being rebuilt") from exc
        finally:
            if reads is not None:
                reads.release()

    def recent_fact(self, position: Position) -> Record | None:
        """Return the fact at a position if it is among the last that were read; never blocks."""
        return self._keeper.facts.find(position)

    def wait(self, position: Position, timeout_s: float) -> None:
        """Wait until readers see what was written with the verdict on a record.

        Raises ViewBehind on timeout, ViewNotReady if there is no view by then.
        """
        done = self._waiters.add(position)
        try:
            done.result(timeout_s)
        except TimeoutError:
            done.cancel()
            raise self._timeout_error(position) from None

    async def wait_async(self, position: Position, timeout_s: float) -> None:
        """Wait as `wait` does, without a thread."""
        await self._wait_until(self._waiters.add(position), position, timeout_s)

    async def wait_for_ends(self, timeout_s: float) -> None:
        """Wait until readers see everything that the topics hold now; raises as `wait` does."""
        await self._wait_until(self._waiters.add_for_ends(), None, timeout_s)

    async def _wait_until(
        self, future: Future[None], position: Position | None, timeout_s: float
    ) -> None:
        done = asyncio.wrap_future(future)
        try:
            async with asyncio.timeout(timeout_s):
                await done
        except TimeoutError:
            raise self._timeout_error(position) from None

    def awaiting(self, row: bytes) -> AbstractContextManager[Future[None]]:
        """Open a future that completes when that row is written; see `RowWaiters.row`."""
        return self._awaiting.row(row)

    def awaiting_any(self, prefix: bytes) -> AbstractContextManager[Future[None]]:
        """Open a future that completes when a row whose key begins so is written."""
        return self._awaiting.rows(prefix)

    def drain(self) -> None:
        """Refuse all present and future waits for a row."""
        self._awaiting.close(ViewNotReady("no more is waited for: the view is being stopped"))

    def _timeout_error(self, position: Position | None) -> ViewBehind | ViewNotReady:
        if self._keeper.serving is None:
            return self._not_ready()
        return ViewBehind(position, self.lag())

    def _not_ready(self) -> ViewNotReady:
        status = self.status()
        why = "" if status.reason is None else f": {status.reason}"
        return ViewNotReady(f"the view is {status.state.replace('_', ' ')}{why}", status.lag)
