"""Ctrl-C while an agent serves."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def end_at_interrupt() -> Iterator[None]:
    """Let the cancellation that Ctrl-C causes go no further, so that the program ends normally.

    `asyncio.run` cancels the main task at Ctrl-C, and raises KeyboardInterrupt afterwards unless
    the task has returned.  Whoever handles SIGINT otherwise still does: the handler is called.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    interrupted = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        previous(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    except asyncio.CancelledError:
        if not interrupted.is_set():
            raise
        _forget_cancellation()
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, previous)


def _forget_cancellation() -> None:
    if (task := asyncio.current_task()) is not None:
        task.uncancel()
