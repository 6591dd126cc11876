"""Progress bars on stderr for long operations, while a person watches.

Nothing is written when stderr is no terminal, or when the operation ends soon.  Bars of several
threads are stacked; other output scrolls above them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
AFTER_S = 0.5
"""An operation that ends before this shows no bar."""


class Bar(Protocol):
    """The progress of an operation.  Any thread may call its methods; none blocks or raises."""

    def advance(self, count: int = 1) -> None:
        """Add `count` to the number done."""

    def reach(self, done: int, total: int | None = None) -> None:
        """Set the number done, and the total if it has changed."""


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "records") -> Iterator[Bar]:
    """Show a bar while the context lasts.  total: None if it is unknown.

    with progress("restore", total=len(rows), unit="rows") as bar:
        for row in rows:
            bar.advance()
    """
    if not is_terminal():
        yield _NoBar()
        return
    bar = _TerminalBar(what, total, unit)
    try:
        yield bar
    finally:
        bar.end()


def count_items(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, with a bar that counts them."""
    with progress(what, total) as bar:
        for item in items:
            yield item
            bar.advance()


@contextmanager
def reading(
    what: str, begun: Mapping[K, int], ends: Mapping[K, int]
) -> Iterator[Callable[[Callable[[K], int]], None]]:
    """Show a bar for a reader on its way to the given ends.

    The context yields a function; call it with the reader's `position` to update the bar.
    """
    starts = {tp: begun[tp] for tp in ends}
    total = sum(max(0, end - starts[tp]) for tp, end in ends.items())
    with progress(what, total) as bar:
        yield lambda position: bar.reach(sum(position(p) - at for p, at in starts.items()))


def is_terminal() -> bool:
    """Check whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


class _NoBar:
    def advance(self, count: int = 1) -> None:
        pass

    def reach(self, done: int, total: int | None = None) -> None:
        pass


class _TerminalBar:
    """One line of the display, shown from the first step after AFTER_S on."""

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._begun = time.monotonic()
        self._done = 0
        self._lock = threading.Lock()
        self._line: TaskID | None = None
        self._display: Progress | None = None

    def advance(self, count: int = 1) -> None:
        with self._lock:
            self._done += count
            self._show()

    def reach(self, done: int, total: int | None = None) -> None:
        with self._lock:
            self._done = done
            self._total = self._total if total is None else total
            self._show()

    def _show(self) -> None:
        if self._display is None:
            if time.monotonic() - self._begun < AFTER_S:
                return
            self._display = _DISPLAY.take()
            self._line = self._display.add_task(self._what, total=self._total, unit=self._unit)
        assert self._line is not None
        self._display.update(self._line, completed=self._done, total=self._total)

    def end(self) -> None:
        with self._lock:
            if self._display is not None:
                _DISPLAY.give_back()


class _Display:
    """The single display of this process, while any bar uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._progress: Progress | None = None

    def take(self) -> Progress:
        with self._lock:
            self._users += 1
            if self._progress is None:
                self._progress = _make_display()
                self._progress.start()
            return self._progress

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._progress is not None:
                self._progress.stop()
                self._progress = None


_DISPLAY = _Display()


def _make_display() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),  # else leave stdout alone
    )
