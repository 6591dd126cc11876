"""Ctrl-C and SIGTERM end a rewind between its steps, or while it waits for an answer; never git."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

_PAUSE_S = 0.05


class Interrupts:
    """Inside its context the signals are noted; KeyboardInterrupt is raised where that is safe."""

    def __init__(self) -> None:
        self.seen = False
        self._open = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        if self._open:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Between two steps.  Raises KeyboardInterrupt."""
        if self.seen:
            raise KeyboardInterrupt

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside, a signal raises KeyboardInterrupt at once."""
        self._open = True
        try:
            self.check()
            yield
        finally:
            self._open = False

    def pause(self, seconds: float) -> None:
        """Raises KeyboardInterrupt."""
        with self.open():
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(_PAUSE_S)
