"""A thread that asks the broker, so that the one that applies never waits for an answer.

It asks for the ends whenever someone waits for a record, once for all who do; every second, to
know the lag; and now and then whether the log still is the one that the view was read from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import BrokerUnavailable, TopicsMismatch
from streams.view_store.view import View
from streams.view_store.waiters import Waiter, Waiters

LOOK_S = 1.0
CHECK_EVERY = 5
"""Looks from one check to the next of whether the log still has what the view is to read."""
TOPICS_EVERY = 300
"""Looks from one check to the next of whether its topics are the same; after trouble, at once."""
SILENCE_S = 2.0
_PAUSE_S = 0.2


class Ends(NamedTuple):
    """The ends of all followed partitions, and when (ms since the epoch) they were asked for."""

    at_ms: int
    ends: Mapping[TopicPartition, int]


class Watch:
    """view: what is watched, None while there is none.

    latest: the ends as last asked for.  broken: why the view cannot go on, as far as the log
    tells.
    """

    def __init__(self, log: Log, waiters: Waiters, clock: Callable[[], int]) -> None:
        self._log = log
        self._waiters = waiters
        self._clock = clock
        self._stopped = threading.Event()
        self._asking_since: float | None = None
        self._trouble: str | None = None
        self._looks = 0
        self.view: View | None = None
        self.latest: Ends | None = None
        self.broken: str | None = None

    def follow(self, view: View | None) -> None:
        """Watch this one from now on."""
        self.latest, self.broken = None, None
        self.view = view
        self._waiters.wake()

    def stop(self) -> None:
        self._stopped.set()
        self._waiters.wake()

    def trouble(self) -> str | None:
        """Why the broker cannot be asked, None when it answers."""
        since = self._asking_since
        silence = 0.0 if since is None else time.monotonic() - since
        if silence > SILENCE_S:
            return f"no answer from Kafka for {silence:.0f} s"
        return self._trouble

    def run(self) -> None:
        """Until stopped."""
        next_look = 0.0
        while not self._stopped.is_set():
            due = self._waiters.due(max(0.0, next_look - time.monotonic()))
            view = self.view
            if self._stopped.is_set():
                return
            if view is None:
                self._waiters.put_back(due)
                self._stopped.wait(_PAUSE_S)
                continue
            try:
                if due:
                    self._serve(due, view)
                if time.monotonic() >= next_look:
                    self._look(view)
                    next_look = time.monotonic() + LOOK_S
                self._trouble = None
            except (BrokerUnavailable, TopicsMismatch) as exc:
                self._trouble, self._looks = exc.message, 0
                self._stopped.wait(_PAUSE_S)
            finally:
                since, self._asking_since = self._asking_since, None
                if since is not None and time.monotonic() - since > SILENCE_S:
                    self._looks = 0  # the client rides out what it does not tell of

    def _serve(self, due: Sequence[Waiter], view: View) -> None:
        numbers = {waiter.position.partition for waiter in due}
        own = {number: view.of_task(number) for number in numbers}
        self._asking_since = time.monotonic()
        try:
            found = self._log.high_watermarks(sorted({tp for tps in own.values() for tp in tps}))
        except BaseException:
            self._waiters.put_back(due)
            raise
        ends = {number: {tp: found[tp] for tp in tps} for number, tps in own.items()}
        self._waiters.passing(due, ends, view)

    def _look(self, view: View) -> None:
        self._asking_since = time.monotonic()
        at_ms = self._clock()
        ends = self._log.ends(view.partitions)
        check, topics = (self._looks % every == 0 for every in (CHECK_EVERY, TOPICS_EVERY))
        broken = view.why_not(same_topics=not topics) if check else None
        self._looks += 1
        if view is self.view:
            self.latest = Ends(at_ms, ends)
            self.broken = self.broken or broken
