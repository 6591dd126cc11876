"""Futures for rows of a view, completed by the thread that writes the rows."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager

Waiting = dict[bytes, list[Future[None]]]


class RowWaiters:
    """The futures of callers that wait for a row, or for one of many.

    Safe to call from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: Waiting = {}
        self._by_prefix: Waiting = {}
        self._closed: Exception | None = None

    def row(self, key: bytes) -> AbstractContextManager[Future[None]]:
        """Open a future that completes when the row is next written.

        A caller must look for the row after entering the context, so that it misses no write.
        """
        return self._wait(self._by_key, key)

    def rows(self, prefix: bytes) -> AbstractContextManager[Future[None]]:
        """Open a future that completes when a row whose key begins so is next written."""
        return self._wait(self._by_prefix, prefix)

    @contextmanager
    def _wait(self, waiting: Waiting, key: bytes) -> Iterator[Future[None]]:
        done: Future[None] = Future()
        with self._lock:
            if self._closed is not None:
                done.set_exception(self._closed)
            else:
                waiting.setdefault(key, []).append(done)
        try:
            yield done
        finally:
            done.cancel()
            with self._lock:
                _forget(waiting, key, done)

    def written(self, keys: Collection[bytes]) -> None:
        """Complete the futures of these rows."""
        if not self._by_key and not self._by_prefix:
            return
        with self._lock:
            for key in [key for key in self._by_key if key in keys]:
                _complete(self._by_key.pop(key))
            ordered = sorted(keys) if self._by_prefix else []
            for prefix in [each for each in self._by_prefix if _begins_one(each, ordered)]:
                _complete(self._by_prefix.pop(prefix))

    def close(self, exc: Exception) -> None:
        """Fail all present and future waits with this exception."""
        with self._lock:
            self._closed = exc
            for waiting in (self._by_key, self._by_prefix):
                for futures in waiting.values():
                    _complete(futures, exc)
                waiting.clear()


def _forget(waiting: Waiting, key: bytes, done: Future[None]) -> None:
    futures = waiting.get(key, [])
    if done in futures:
        futures.remove(done)
    if not futures:
        waiting.pop(key, None)


def _begins_one(prefix: bytes, ordered: Sequence[bytes]) -> bool:
    """Return whether one of these keys, which are in order, begins with the prefix."""
    n = bisect_left(ordered, prefix)
    return n < len(ordered) and ordered[n].startswith(prefix)


def _complete(waiting: list[Future[None]], exc: Exception | None = None) -> None:
    """Complete the futures that were not cancelled."""
    for done in waiting:
        if not done.set_running_or_notify_cancel():
            continue
        if exc is None:
            done.set_result(None)
        else:
            done.set_exception(exc)
