"""Bars on stderr for what takes long, while a person watches.

Nothing at all is written when stderr is no terminal, or when the work is done soon.  Bars of
several threads stand below each other; what is printed meanwhile scrolls above them.
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
"""What is done before that shows no bar."""


class Bar(Protocol):
    """How far a work has come.  Its methods neither block nor raise; any thread may call them."""

    def advance(self, count: int = 1) -> None:
        """That many more are done."""

    def reach(self, done: int, total: int | None = None) -> None:
        """So many are done in all; total: if it has changed."""


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "records") -> Iterator[Bar]:
    """A bar for as long as the context lasts.  total: None if it is not known.

    with progress("restore", total=len(rows), unit="rows") as bar:
        for row in rows:
            bar.advance()
    """
    if not watched():
        yield _Silent()
        return
    bar = _Shown(what, total, unit)
    try:
        yield bar
    finally:
        bar.end()


def counted(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items, with a bar that counts them."""
    with progress(what, total) as bar:
        for item in items:
            yield item
            bar.advance()


@contextmanager
def reading(
    what: str, begun: Mapping[K, int], ends: Mapping[K, int]
) -> Iterator[Callable[[Callable[[K], int]], None]]:
    """A bar of a reader on its way to the ends that were asked for.

    Inside, what is given takes the reader's `position`, and shows how far it has come.
    """
    first = {place: begun[place] for place in ends}
    total = sum(max(0, end - first[place]) for place, end in ends.items())
    with progress(what, total) as bar:
        yield lambda position: bar.reach(sum(position(p) - at for p, at in first.items()))


def watched() -> bool:
    """stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


class _Silent:
    def advance(self, count: int = 1) -> None:
        pass

    def reach(self, done: int, total: int | None = None) -> None:
        pass


class _Shown:
    """One line of the display, from the first step on that comes late enough."""

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
    """The one display of this process, as long as somebody uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._shown: Progress | None = None

    def take(self) -> Progress:
        with self._lock:
            self._users += 1
            if self._shown is None:
                self._shown = _made()
                self._shown.start()
            return self._shown

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._shown is not None:
                self._shown.stop()
                self._shown = None


_DISPLAY = _Display()


def _made() -> Progress:
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
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),  # else it goes elsewhere
    )
