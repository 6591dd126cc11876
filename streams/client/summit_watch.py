"""A thread that reads verdicts and rows of runs and wakes the calls that wait for them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streams.engine.log import Log, Pace
from streams.engine.records import Record, TopicPartition
from streams.errors import HeadraceError
from streams.log.record_json import value_json
from topology.declarations import Topic
from topology.summit import SUMMIT_EVENTS, SUMMIT_RUNS
from topology.topics import full_name

log = logging.getLogger(__name__)

Json = dict[str, Any]
News = asyncio.Queue[tuple[Topic, Json] | HeadraceError]
WATCHED = (SUMMIT_EVENTS, SUMMIT_RUNS)
_POLL_S = 0.1


class RunWatcher:
    """A reader of new facts and rows of runs, for callers that subscribed before they were written.

    Creating and closing it block.  It is over when reading has failed; subscribers get the error.
    """

    def __init__(self, log: Log, prefix: str) -> None:
        self._topics = {full_name(topic, prefix): topic for topic in WATCHED}
        there = log.topics()
        tps = [
            TopicPartition(name, number)
            for name in self._topics
            for number in range(there[name].partitions)
        ]
        self._reader = log.reader(log.ends(tps), Pace.LIVE)
        self._lock = threading.Lock()
        self._waiting: dict[bytes, list[tuple[asyncio.AbstractEventLoop, News]]] = {}
        self._closed = threading.Event()
        self._error: HeadraceError | None = None
        self._thread = threading.Thread(target=self._run, name="summit-watch", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return self._error is not None

    @contextmanager
    def of(self, key: str) -> Iterator[News]:
        """Yield a queue of the records written under this key from now on, in log order."""
        news: News = asyncio.Queue()
        waiting, subscriber = key.encode(), (asyncio.get_running_loop(), news)
        with self._lock:
            self._waiting.setdefault(waiting, []).append(subscriber)
            if self._error is not None:
                news.put_nowait(self._error)
        try:
            yield news
        finally:
            with self._lock:
                self._waiting[waiting].remove(subscriber)
                if not self._waiting[waiting]:
                    del self._waiting[waiting]

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._closed.is_set():
                for record in self._reader.poll(_POLL_S):
                    if record.key in self._waiting:
                        self._tell(record)
        except HeadraceError as exc:
            self._fail(exc)
        except Exception as exc:  # such as an unreadable record: subscribers must not wait forever
            log.exception("what comes of calls is read no more")
            self._fail(HeadraceError(f"what comes of calls cannot be read on: {exc!r}"))
        finally:
            self._reader.close()

    def _tell(self, record: Record) -> None:
        topic = self._topics[record.topic]
        value = value_json(topic, record)
        with self._lock:
            for loop, news in self._waiting.get(record.key or b"", ()):
                loop.call_soon_threadsafe(news.put_nowait, (topic, value))

    def _fail(self, error: HeadraceError) -> None:
        with self._lock:
            self._error = error
            for waiting in self._waiting.values():
                for loop, news in waiting:
                    loop.call_soon_threadsafe(news.put_nowait, error)
