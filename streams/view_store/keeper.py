"""The thread that opens a live view, catches up, follows the log and rebuilds it.

    starting → rebuilding | catching_up → ready
        ↑___________________________________|   the copy is damaged, deleted or not continued

While no broker responds, the view stays in its state.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks
from streams.engine.store import DirectoryLock
from streams.errors import (
    BrokerUnavailable,
    RegistryUnavailable,
    StateLocked,
    StoreFailed,
    TopicsMismatch,
)
from streams.view_store.end_offsets import EndOffsetPoller, Ends
from streams.view_store.offset_waiters import OffsetWaiters
from streams.view_store.recent_facts import RecentFacts
from streams.view_store.row_waiters import RowWaiters
from streams.view_store.view import View
from streams.views.status import State, ViewStats

if TYPE_CHECKING:
    from streams.view_store.transparency import TransparencyLog

POLL_S = 0.05
TICK_S = 0.5
PAUSE_S = 0.5
IDS_S = 60.0
"""Minimum time between two requests for the topics' ids while a reader fails repeatedly."""
SLICE = 500
"""Maximum number of records per step while queries are served: they wait for a step's decoding."""
CLOSE_ENOUGH_S = 1.0
_RETRIED = (BrokerUnavailable, RegistryUnavailable, TopicsMismatch, StateLocked)

_log = logging.getLogger("streams.views.keeper")


class Rebuild(Exception):
    """The store cannot be used any more; the text is the reason."""


class ViewThread:
    """The owner of a live view's store and of its state.

    serving: the view that queries may read, None while there is none.
    state: its name, the time when it began (ms since the epoch) and the reason.
    facts: those that it has read last while it serves.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str,
        clock: Callable[[], int],
        waiters: OffsetWaiters,
        watch: EndOffsetPoller,
        awaiting: RowWaiters,
        set_aside: str = "",
        transparency: TransparencyLog | None = None,
        macs: MacChecks | None = None,
    ) -> None:
        self._log, self._path, self._prefix, self._clock = log, path, prefix, clock
        self._waiters, self._watch, self._awaiting = waiters, watch, awaiting
        self._set_aside, self._transparency, self._macs = set_aside, transparency, macs
        self._stopping = threading.Event()
        self._lock: DirectoryLock | None = None
        self._frozen = False
        self._damage: str | None = None
        self._reason: str | None = None
        self._pending_ends: Ends | None = None
        self._next_tick = self._next_ids = 0.0
        self._stats_before = self.stats = ViewStats()
        self.serving: View | None = None
        self.facts = RecentFacts()
        self.state: tuple[State, int, str | None] = ("starting", clock(), None)

    def lock(self) -> None:
        """Lock the directory.  Raises StateLocked if another process has it."""
        self.release()
        self._lock = DirectoryLock(self._path)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
        self._lock = None

    def stop(self) -> None:
        self._stopping.set()

    def report(self, damage: str) -> None:
        """Record that a reader has met unreadable rows."""
        self._damage = damage

    def fail(self, reason: str) -> None:
        """Enter the state `failed` for good."""
        self.serving = None
        self._enter("failed", reason)
        self._stopping.set()

    def _enter(self, state: State, reason: str | None = None) -> None:
        before, since, known = self.state
        if before == "failed" or (before, known) == (state, reason):
            return
        level = logging.WARNING if before == "ready" else logging.INFO
        _log.log(level, "view %s%s", state, "" if reason is None else f": {reason}")
        self.state = (state, since if state == before else self._clock(), reason)

    def run(self) -> None:
        """Run until stopped."""
        while not self._stopping.is_set():
            try:
                if self._lock is None:
                    self.lock()
                with self._open_view() as view:
                    self._run_view(view)
            except (Rebuild, StoreFailed) as exc:
                self._enter_rebuilding(exc)
                self.release()  # the lock's file may be gone with the rows
                self._stopping.wait(PAUSE_S if isinstance(exc, StoreFailed) else 0)
            except _RETRIED as exc:
                self._enter(self.state[0], exc.message)
                self._stopping.wait(PAUSE_S)
            except OSError as exc:  # too many open files, say, or a disk that is full
                self._enter("rebuilding", f"{self._path}: {exc.strerror or exc}")
                self._stopping.wait(PAUSE_S)

    @contextmanager
    def _open_view(self) -> Iterator[View]:
        """Open the store; at the end close it, or remove it if it must be rebuilt."""
        self._damage = self._pending_ends = None
        view = View(
            self._log,
            self._path / "rows",
            self._prefix,
            self._clock,
            self._set_aside,
            self._transparency,
            self._macs,
        )
        view.on_written = self._awaiting.written
        close = view.close
        try:
            yield view
        except (Rebuild, StoreFailed) as exc:
            self._enter_rebuilding(exc)
            close = view.drop
            raise
        finally:
            self._stop_serving(view)
            close()

    def _enter_rebuilding(self, exc: Rebuild | StoreFailed) -> None:
        self.serving = None
        self._reason = exc.message if isinstance(exc, StoreFailed) else str(exc)
        self._enter("rebuilding", self._reason)

    def _run_view(self, view: View) -> None:
        if view.begun_anew:
            self._enter("rebuilding", self._reason or view.begun_anew)
            self._stats_before = self._stats_before._replace(
                rebuilds=self._stats_before.rebuilds + 1
            )
        else:
            self._enter("catching_up")
        self._watch.follow(view)
        self._catch_up(view)
        if not self._stopping.is_set():
            self._start_serving(view)
        while not self._stopping.is_set():
            self._step(view)

    def _catch_up(self, view: View) -> None:
        """Read to the end, again and again, until one pass takes less than `CLOSE_ENOUGH_S`."""
        elapsed_s = CLOSE_ENOUGH_S
        while elapsed_s >= CLOSE_ENOUGH_S and not self._stopping.is_set():
            started = time.monotonic()
            ends = self._log.high_watermarks(view.partitions)
            while view.short_of(ends) and not self._stopping.is_set():
                self._step(view)
            elapsed_s = time.monotonic() - started

    def _start_serving(self, view: View) -> None:
        if not self._frozen:
            gc.collect()
            gc.freeze()  # full collections stop every thread; they now skip these objects
            self._frozen = True
        self._reason = None
        view.at_once = SLICE
        view.on_applied = self.facts.add
        self.serving = view
        self._waiters.attach(view)
        self.stats = self._current_stats(view)
        self._enter("ready")

    def _stop_serving(self, view: View) -> None:
        self.serving = None
        self.facts.clear()
        self._waiters.attach(None)
        self._watch.follow(None)
        self._stats_before = self.stats = self._current_stats(view)

    def _step(self, view: View) -> None:
        try:
            view.step(POLL_S)
        except BrokerUnavailable as exc:
            self._replace_reader(view, exc)
        self._waiters.check()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + TICK_S
            self._tick(view)

    def _replace_reader(self, view: View, exc: BrokerUnavailable) -> None:
        """Replace a failed reader, if the log still continues the store; else raise Rebuild."""
        self._enter(self.state[0], exc.message)
        try:
            why = view.why_not(same_topics=not self._ids_are_due())
        except (BrokerUnavailable, TopicsMismatch):
            why = None
        if why is not None:
            raise Rebuild(why)
        self._stopping.wait(PAUSE_S)
        view.reread()
        self._enter(self.state[0], self._reason)

    def _ids_are_due(self) -> bool:
        due = time.monotonic() >= self._next_ids
        if due:
            self._next_ids = time.monotonic() + IDS_S
        return due

    def _tick(self, view: View) -> None:
        damage = self._damage or view.damage() or self._watch.broken
        if damage is not None:
            raise Rebuild(damage)
        self._pending_ends = self._pending_ends or self._watch.latest
        if self._pending_ends is not None and not view.short_of(self._pending_ends.ends):
            view.note_at_end(self._pending_ends.at_ms)
            self._pending_ends = None
        self.stats = self._current_stats(view)._replace(rows_bytes=view.rows_bytes())

    def _current_stats(self, view: View) -> ViewStats:
        before = self._stats_before
        return before._replace(
            applied=before.applied + view.applied,
            batches=before.batches + view.batches,
            apply_s=before.apply_s + view.apply_s,
            positions=tuple(view.positions.items()),
            skipped=before.skipped + view.skipped,
        )
