"""A thread that queries the broker, so that the applying thread never waits for a response.

It reads the end offsets whenever a caller waits for a record, once for all callers; every second,
to compute the lag in records and in time; and from time to time it checks that the log is still the
one that the view was read from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import BrokerUnavailable, TopicsMismatch
from streams.view_store.offset_waiters import OffsetWaiters, Waiter
from streams.view_store.view import View

LOOK_S = 1.0
CHECK_EVERY = 5
"""Polls between two checks that the log still has the records that the view must read."""
TOPICS_EVERY = 300
"""Polls between two checks that the topics are the same; an error makes the check due at once."""
SILENCE_S = 2.0
MOST_ENDS = 8
"""The most polls whose ends are kept until the view is there; of more, every second one goes."""
_PAUSE_S = 0.2


class Ends(NamedTuple):
    """The ends of all followed partitions, and the time (ms since the epoch) of the request."""

    at_ms: int
    ends: Mapping[TopicPartition, int]


class EndOffsetPoller:
    """The poller of end offsets.

    view: the current view, None while there is none.  latest: the ends at the last poll.
    broken: why the view cannot go on, as far as the log shows.
    """

    def __init__(self, log: Log, waiters: OffsetWaiters, clock: Callable[[], int]) -> None:
        self._log = log
        self._waiters = waiters
        self._clock = clock
        self._stopped = threading.Event()
        self._request_since: float | None = None
        self._error: str | None = None
        self._poll_count = 0
        self.view: View | None = None
        self._unreached: tuple[Ends, ...] = ()
        self.latest: Ends | None = None
        self.broken: str | None = None

    def follow(self, view: View | None) -> None:
        """Poll for this view from now on."""
        self.latest, self.broken, self._unreached = None, None, ()
        self.view = view
        self._waiters.wake()

    def stop(self) -> None:
        self._stopped.set()
        self._waiters.wake()

    def trouble(self) -> str | None:
        """Return why the broker cannot be queried, None if it responds."""
        since = self._request_since
        silence = 0.0 if since is None else time.monotonic() - since
        if silence > SILENCE_S:
            return f"no answer from Kafka for {silence:.0f} s"
        return self._error

    def behind_since(self) -> int | None:
        """Return the time (ms since the epoch) of the first poll whose ends are not reached.

        None if it has reached those of the last poll.  Any thread may call it.
        """
        view, unreached = self.view, self._unreached
        if view is None:
            return None
        return next((each.at_ms for each in unreached if view.short_of(each.ends)), None)

    def run(self) -> None:
        """Poll until stopped."""
        next_poll = 0.0
        while not self._stopped.is_set():
            due = self._waiters.due(max(0.0, next_poll - time.monotonic()))
            view = self.view
            if self._stopped.is_set():
                return
            if view is None:
                self._waiters.put_back(due)
                self._stopped.wait(_PAUSE_S)
                continue
            try:
                if due:
                    self._read_ends(due, view)
                if time.monotonic() >= next_poll:
                    self._poll(view)
                    next_poll = time.monotonic() + LOOK_S
                self._error = None
            except (BrokerUnavailable, TopicsMismatch) as exc:
                self._error, self._poll_count = exc.message, 0
                self._stopped.wait(_PAUSE_S)
            finally:
                since, self._request_since = self._request_since, None
                if since is not None and time.monotonic() - since > SILENCE_S:
                    self._poll_count = 0  # the client retries without reporting an error

    def _read_ends(self, due: Sequence[Waiter], view: View) -> None:
        numbers = {waiter.number for waiter in due}
        tps_of = {n: view.partitions if n is None else view.of_task(n) for n in numbers}
        self._request_since = time.monotonic()
        try:
            end_offsets = self._log.high_watermarks(
                sorted({tp for tps in tps_of.values() for tp in tps})
            )
        except BaseException:
            self._waiters.put_back(due)
            raise
        ends = {number: {tp: end_offsets[tp] for tp in tps} for number, tps in tps_of.items()}
        self._waiters.passing(due, ends, view)

    def _poll(self, view: View) -> None:
        self._request_since = time.monotonic()
        at_ms = self._clock()
        ends = self._log.ends(view.partitions)
        check, topics = (self._poll_count % every == 0 for every in (CHECK_EVERY, TOPICS_EVERY))
        reason = view.why_not(same_topics=not topics) if check else None
        self._poll_count += 1
        if view is self.view:
            self.latest = Ends(at_ms, ends)
            self._unreached = _thinned(
                [each for each in (*self._unreached, self.latest) if view.short_of(each.ends)]
            )
            self.broken = self.broken or reason


def _thinned(polls: Sequence[Ends]) -> tuple[Ends, ...]:
    """Return the polls, or every second one with the first and the last if there are too many."""
    if len(polls) <= MOST_ENDS:
        return tuple(polls)
    return (*polls[:-1:2], polls[-1])
