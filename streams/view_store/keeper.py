"""The thread that keeps a live view: opens it, brings it to the end, follows, rebuilds.

    starting → rebuilding | catching_up → ready
        ↑___________________________________|   the copy is damaged, deleted or not continued

While no broker answers it stays as it is.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.engine.log import Log
from streams.engine.store import DirectoryLock
from streams.errors import (
    BrokerUnavailable,
    RegistryUnavailable,
    StateLocked,
    StoreFailed,
    TopicsMismatch,
)
from streams.view_store.awaiting import Awaiting
from streams.view_store.view import View
from streams.view_store.waiters import Waiters
from streams.view_store.watch import Ends, Watch
from streams.views.status import State, ViewStats

POLL_S = 0.05
TICK_S = 0.5
PAUSE_S = 0.5
IDS_S = 60.0
"""How long a reader that fails again and again goes without asking for the ids of its topics."""
SLICE = 500
"""Most records of one step beside queries: they wait while a step converts what it has read."""
CLOSE_ENOUGH_S = 1.0
_PASSING = (BrokerUnavailable, RegistryUnavailable, TopicsMismatch, StateLocked)

_log = logging.getLogger("streams.views.keeper")


class Rebuild(Exception):
    """The copy is of no more use; its text says why."""


class Keeper:
    """serving: the view that queries may read, None while there is none.

    state: its name, since when (ms since the epoch) and why.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str,
        clock: Callable[[], int],
        waiters: Waiters,
        watch: Watch,
        awaiting: Awaiting,
    ) -> None:
        self._log, self._path, self._prefix, self._clock = log, path, prefix, clock
        self._waiters, self._watch, self._awaiting = waiters, watch, awaiting
        self._stopping = threading.Event()
        self._lock: DirectoryLock | None = None
        self._frozen = False
        self._damage: str | None = None
        self._why: str | None = None
        self._mark: Ends | None = None
        self._next_tick = self._next_ids = 0.0
        self._before = self.stats = ViewStats()
        self.serving: View | None = None
        self.state: tuple[State, int, str | None] = ("starting", clock(), None)

    def lock(self) -> None:
        """Raises StateLocked when another process has the directory."""
        self.release()
        self._lock = DirectoryLock(self._path)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
        self._lock = None

    def stop(self) -> None:
        self._stopping.set()

    def report(self, damage: str) -> None:
        """A reader has met rows that cannot be read."""
        self._damage = damage

    def fail(self, reason: str) -> None:
        """For good."""
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
        """Until stopped."""
        while not self._stopping.is_set():
            try:
                if self._lock is None:
                    self.lock()
                with self._opened() as view:
                    self._live(view)
            except (Rebuild, StoreFailed) as exc:
                self._rebuild(exc)
                self.release()  # its file may have gone with the rows
                self._stopping.wait(PAUSE_S if isinstance(exc, StoreFailed) else 0)
            except _PASSING as exc:
                self._enter(self.state[0], exc.message)
                self._stopping.wait(PAUSE_S)

    @contextmanager
    def _opened(self) -> Iterator[View]:
        """One copy.  It is removed if it turns out to be of no use, else closed."""
        self._damage = self._mark = None
        view = View(self._log, self._path / "rows", self._prefix, self._clock)
        view.on_written = self._awaiting.written
        close = view.close
        try:
            yield view
        except (Rebuild, StoreFailed) as exc:
            self._rebuild(exc)
            close = view.drop
            raise
        finally:
            self._leave(view)
            close()

    def _rebuild(self, exc: Rebuild | StoreFailed) -> None:
        self.serving = None
        self._why = exc.message if isinstance(exc, StoreFailed) else str(exc)
        self._enter("rebuilding", self._why)

    def _live(self, view: View) -> None:
        if view.begun_anew:
            self._enter("rebuilding", self._why or view.begun_anew)
            self._before = self._before._replace(rebuilds=self._before.rebuilds + 1)
        else:
            self._enter("catching_up")
        self._watch.follow(view)
        self._catch_up(view)
        if not self._stopping.is_set():
            self._serve(view)
        while not self._stopping.is_set():
            self._step(view)

    def _catch_up(self, view: View) -> None:
        """Until what came meanwhile was read at once, too."""
        took = CLOSE_ENOUGH_S
        while took >= CLOSE_ENOUGH_S and not self._stopping.is_set():
            began = time.monotonic()
            ends = self._log.high_watermarks(view.partitions)
            while view.short_of(ends) and not self._stopping.is_set():
                self._step(view)
            took = time.monotonic() - began

    def _serve(self, view: View) -> None:
        if not self._frozen:
            gc.collect()
            gc.freeze()  # full collections, which hold up everyone, then pass over what is there
            self._frozen = True
        self._why = None
        view.at_once = SLICE
        self.serving = view
        self._waiters.attach(view)
        self.stats = self._counted(view)
        self._enter("ready")

    def _leave(self, view: View) -> None:
        self.serving = None
        self._waiters.attach(None)
        self._watch.follow(None)
        self._before = self.stats = self._counted(view)

    def _step(self, view: View) -> None:
        try:
            view.step(POLL_S)
        except BrokerUnavailable as exc:
            self._reread(view, exc)
        self._waiters.moved()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + TICK_S
            self._tick(view)

    def _reread(self, view: View, exc: BrokerUnavailable) -> None:
        """The reader has failed: read on with another, if the log still continues the copy."""
        self._enter(self.state[0], exc.message)
        try:
            why = view.why_not(same_topics=not self._ids_are_due())
        except (BrokerUnavailable, TopicsMismatch):
            why = None
        if why is not None:
            raise Rebuild(why)
        self._stopping.wait(PAUSE_S)
        view.reread()
        self._enter(self.state[0], self._why)

    def _ids_are_due(self) -> bool:
        due = time.monotonic() >= self._next_ids
        if due:
            self._next_ids = time.monotonic() + IDS_S
        return due

    def _tick(self, view: View) -> None:
        damage = self._damage or view.damage() or self._watch.broken
        if damage is not None:
            raise Rebuild(damage)
        self._mark = self._mark or self._watch.latest
        if self._mark is not None and not view.short_of(self._mark.ends):
            view.note_at_end(self._mark.at_ms)
            self._mark = None
        self.stats = self._counted(view)._replace(rows_bytes=view.rows_bytes())

    def _counted(self, view: View) -> ViewStats:
        before = self._before
        return before._replace(
            applied=before.applied + view.applied,
            batches=before.batches + view.batches,
            apply_s=before.apply_s + view.apply_s,
            positions=tuple(view.positions.items()),
        )
