"""Handling of Ctrl-C and SIGTERM: they end a rewind between its steps, never in git."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

_PAUSE_S = 0.05


class Interrupts:
    """A context that records signals and raises KeyboardInterrupt only where that is safe."""

    def __init__(self) -> None:
        self.seen = False
        self._open = False
        self._previous_handlers: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        if self._open:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come.  Call it between two steps."""
        if self.seen:
            raise KeyboardInterrupt

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let a signal raise KeyboardInterrupt at once while the context is open."""
        self._open = True
        try:
            self.check()
            yield
        finally:
            self._open = False

    def pause(self, seconds: float) -> None:
        """Sleep.  Raises KeyboardInterrupt."""
        with self.open():
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(_PAUSE_S)
