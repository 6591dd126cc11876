"""Who waits for a row of a view to be written, woken by the thread that writes it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager


class Awaiting:
    """Any thread may call anything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[bytes, list[Future[None]]] = {}
        self._closed: Exception | None = None

    @contextmanager
    def row(self, key: bytes) -> Iterator[Future[None]]:
        """Done once the row is written, from now on: look whether it is there only afterwards."""
        done: Future[None] = Future()
        with self._lock:
            if self._closed is not None:
                done.set_exception(self._closed)
            else:
                self._waiting.setdefault(key, []).append(done)
        try:
            yield done
        finally:
            done.cancel()
            with self._lock:
                self._forget(key, done)

    def _forget(self, key: bytes, done: Future[None]) -> None:
        waiting = self._waiting.get(key, [])
        if done in waiting:
            waiting.remove(done)
        if not waiting:
            self._waiting.pop(key, None)

    def written(self, keys: Collection[bytes]) -> None:
        """These rows are there now."""
        if not self._waiting:
            return
        with self._lock:
            for key in [key for key in self._waiting if key in keys]:
                _settle(self._waiting.pop(key))

    def close(self, exc: Exception) -> None:
        """Everyone who waits, now or later, gets this."""
        with self._lock:
            self._closed = exc
            for waiting in self._waiting.values():
                _settle(waiting, exc)
            self._waiting.clear()


def _settle(waiting: list[Future[None]], exc: Exception | None = None) -> None:
    """Unless they were cancelled."""
    for done in waiting:
        if not done.set_running_or_notify_cancel():
            continue
        if exc is None:
            done.set_result(None)
        else:
            done.set_exception(exc)
