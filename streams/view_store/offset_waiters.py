"""Callers that wait for the verdict on a record, and then for everything written with it.

Others wait for no verdict, but for everything that the topics hold when they ask.

Kafka shows the records of a transaction partition by partition.  So once the verdict is seen, the
ends (high watermarks) of the task's partitions are read, and the view must pass them: everything
that the deciding task wrote in the same transaction lies below.  One request serves all callers
that are due.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from streams.engine.records import TopicPartition
from streams.views.positions import Position

Ends = Mapping[TopicPartition, int]


class Waiter(NamedTuple):
    """A waiting caller.  position: of the record, None for the ends of all partitions."""

    position: Position | None
    done: Future[None]

    @property
    def number(self) -> int | None:
        """Return the number of the task whose ends it waits for; None: of all."""
        return None if self.position is None else self.position.partition


class ViewProgress(Protocol):
    """The progress of a view."""

    def has_answer(self, position: Position) -> bool: ...

    def short_of(self, ends: Ends) -> int: ...


class OffsetWaiters:
    """The queues of waiting callers.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._seen: ViewProgress | None = None
        self._closed: Exception | None = None
        self._unanswered: list[Waiter] = []
        self._due: list[Waiter] = []
        self._passing: list[tuple[Waiter, Ends]] = []

    def add(self, position: Position) -> Future[None]:
        """Return a future for a record's verdict.

        When it completes, a new snapshot shows everything that was written with the verdict.
        """
        return self._add(Waiter(position, Future()))

    def add_for_ends(self) -> Future[None]:
        """Return a future that completes when a new snapshot shows all that the topics hold now."""
        return self._add(Waiter(None, Future()))

    def _add(self, waiter: Waiter) -> Future[None]:
        with self._lock:
            if self._closed is not None:
                waiter.done.set_exception(self._closed)
                return waiter.done
            self._unanswered.append(waiter)
            self._collect_answered()
        return waiter.done

    def attach(self, seen: ViewProgress | None) -> None:
        """Use the progress of this view from now on; None: nobody is served until there is one."""
        with self._lock:
            self._seen = seen
            self._unanswered += [*self._due, *(waiter for waiter, _ in self._passing)]
            self._due, self._passing = [], []
            self._collect_answered()

    def check(self) -> None:
        """Check the waiting callers again after the view has read more."""
        if not self._unanswered and not self._passing:
            return
        with self._lock:
            self._collect_answered()
            self._complete_passed()

    def _collect_answered(self) -> None:
        seen = self._seen
        if seen is None:
            return
        remaining: list[Waiter] = []
        for waiter in self._unanswered:
            if waiter.position is None or seen.has_answer(waiter.position):
                self._due.append(waiter)
            elif not waiter.done.done():
                remaining.append(waiter)
        self._unanswered = remaining
        if self._due:
            self._lock.notify_all()

    def _complete_passed(self) -> None:
        seen = self._seen
        if seen is None:
            return
        remaining: list[tuple[Waiter, Ends]] = []
        for waiter, ends in self._passing:
            if not seen.short_of(ends):
                _complete(waiter)
            elif not waiter.done.done():
                remaining.append((waiter, ends))
        self._passing = remaining

    def due(self, timeout_s: float) -> Sequence[Waiter]:
        """Take the callers that now need the end offsets; wait at most `timeout_s` for one."""
        with self._lock:
            if not self._due:
                self._lock.wait(timeout_s)
            due, self._due = self._due, []
            return due

    def passing(
        self, due: Sequence[Waiter], ends: Mapping[int | None, Ends], seen: ViewProgress
    ) -> None:
        """Set the ends, by the number of a task (None: of all), that these callers must wait for.

        due: callers that `due` returned before the ends were read.  seen: the view that the ends
        were read for; if another view has replaced it, the callers wait from the start.
        """
        with self._lock:
            if seen is self._seen:
                self._passing += [(waiter, ends[waiter.number]) for waiter in due]
                self._complete_passed()
            else:
                self._unanswered += due
                self._collect_answered()

    def put_back(self, due: Sequence[Waiter]) -> None:
        """Put callers back after the ends could not be read."""
        with self._lock:
            self._due += [waiter for waiter in due if not waiter.done.done()]

    def wake(self) -> None:
        """Make a blocked `due` return."""
        with self._lock:
            self._lock.notify_all()

    def close(self, exc: Exception) -> None:
        """Fail all present and future waits with this exception."""
        with self._lock:
            self._closed = exc
            waiting = [*self._unanswered, *self._due, *(waiter for waiter, _ in self._passing)]
            self._unanswered, self._due, self._passing = [], [], []
            for waiter in waiting:
                _complete(waiter, exc)
            self._lock.notify_all()


def _complete(waiter: Waiter, exc: Exception | None = None) -> None:
    """Complete the future unless it was cancelled."""
    if not waiter.done.set_running_or_notify_cancel():
        return
    if exc is None:
        waiter.done.set_result(None)
    else:
        waiter.done.set_exception(exc)
