"""Who waits for the answer to a record: first for the answer, then for what was written with it.

Kafka shows the records of a transaction partition by partition.  So once the answer is seen, the
ends (high watermarks) of the task's partitions are asked for, and the view must pass them: what
the deciding task wrote in the same transaction lies below.  One question serves all who are due.
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
    position: Position
    done: Future[None]


class Seen(Protocol):
    """What a view has seen."""

    def has_answer(self, position: Position) -> bool: ...

    def short_of(self, ends: Ends) -> int: ...


class Waiters:
    """Any thread may call anything."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._seen: Seen | None = None
        self._closed: Exception | None = None
        self._unanswered: list[Waiter] = []
        self._due: list[Waiter] = []
        self._passing: list[tuple[Waiter, Ends]] = []

    def add(self, position: Position) -> Future[None]:
        """Done when a snapshot taken from then on shows what was written with the answer."""
        waiter = Waiter(position, Future())
        with self._lock:
            if self._closed is not None:
                waiter.done.set_exception(self._closed)
                return waiter.done
            self._unanswered.append(waiter)
            self._find_answered()
        return waiter.done

    def attach(self, seen: Seen | None) -> None:
        """From now on this view decides; None: nobody is served until there is one."""
        with self._lock:
            self._seen = seen
            self._unanswered += [*self._due, *(waiter for waiter, _ in self._passing)]
            self._due, self._passing = [], []
            self._find_answered()

    def moved(self) -> None:
        """The view has seen more than before."""
        if not self._unanswered and not self._passing:
            return
        with self._lock:
            self._find_answered()
            self._find_passed()

    def _find_answered(self) -> None:
        seen = self._seen
        if seen is None:
            return
        still: list[Waiter] = []
        for waiter in self._unanswered:
            if seen.has_answer(waiter.position):
                self._due.append(waiter)
            elif not waiter.done.done():
                still.append(waiter)
        self._unanswered = still
        if self._due:
            self._lock.notify_all()

    def _find_passed(self) -> None:
        seen = self._seen
        if seen is None:
            return
        still: list[tuple[Waiter, Ends]] = []
        for waiter, ends in self._passing:
            if not seen.short_of(ends):
                _settle(waiter)
            elif not waiter.done.done():
                still.append((waiter, ends))
        self._passing = still

    def due(self, timeout_s: float) -> Sequence[Waiter]:
        """Take those for whom the ends are to be asked now, waiting for one at most that long."""
        with self._lock:
            if not self._due:
                self._lock.wait(timeout_s)
            due, self._due = self._due, []
            return due

    def passing(self, due: Sequence[Waiter], ends: Mapping[int, Ends], seen: Seen) -> None:
        """The ends, by partition number, that were asked for after `due` had given these waiters.

        seen: the view that was asked for; when another has taken its place they wait on.
        """
        with self._lock:
            if seen is self._seen:
                self._passing += [(waiter, ends[waiter.position.partition]) for waiter in due]
                self._find_passed()
            else:
                self._unanswered += due
                self._find_answered()

    def put_back(self, due: Sequence[Waiter]) -> None:
        """The ends could not be asked for."""
        with self._lock:
            self._due += [waiter for waiter in due if not waiter.done.done()]

    def wake(self) -> None:
        """Let `due` return."""
        with self._lock:
            self._lock.notify_all()

    def close(self, exc: Exception) -> None:
        """Everyone who waits, now or later, gets this."""
        with self._lock:
            self._closed = exc
            waiting = [*self._unanswered, *self._due, *(waiter for waiter, _ in self._passing)]
            self._unanswered, self._due, self._passing = [], [], []
            for waiter in waiting:
                _settle(waiter, exc)
            self._lock.notify_all()


def _settle(waiter: Waiter, exc: Exception | None = None) -> None:
    """Unless it was cancelled."""
    if not waiter.done.set_running_or_notify_cancel():
        return
    if exc is None:
        waiter.done.set_result(None)
    else:
        waiter.done.set_exception(exc)
