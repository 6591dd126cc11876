"""Futures for rows of a view, completed by the thread that writes the rows."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager


class RowWaiters:
    """The futures of callers that wait for a row.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[bytes, list[Future[None]]] = {}
        self._closed: Exception | None = None

    @contextmanager
    def row(self, key: bytes) -> Iterator[Future[None]]:
        """Yield a future that completes when the row is next written.

        A caller must look for the row after entering the context, so that it misses no write.
        """
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
        """Complete the futures of these rows."""
        if not self._waiting:
            return
        with self._lock:
            for key in [key for key in self._waiting if key in keys]:
                _complete(self._waiting.pop(key))

    def close(self, exc: Exception) -> None:
        """Fail all present and future waits with this exception."""
        with self._lock:
            self._closed = exc
            for waiting in self._waiting.values():
                _complete(waiting, exc)
            self._waiting.clear()


def _complete(waiting: list[Future[None]], exc: Exception | None = None) -> None:
    """Complete the futures that were not cancelled."""
    for done in waiting:
        if not done.set_running_or_notify_cancel():
            continue
        if exc is None:
            done.set_result(None)
        else:
            done.set_exception(exc)
