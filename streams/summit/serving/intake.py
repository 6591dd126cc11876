"""What an agent is to begin, and up to where its inbox is done: bookkeeping without Kafka."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from streams.engine.records import Record, TopicPartition

Json = dict[str, Any]
REMEMBERED = 100_000
"""Runs that are over whose ids are kept, the latest."""
PATIENCE_MS = 60_000
"""A run whose time was over for so long when a later record was written has ended."""


class InboxRecord(NamedTuple):
    """A run of the inbox.  due_ms: when its timeout fires, ms since the epoch."""

    tp: TopicPartition
    run_id: str
    call: Json
    record: Record
    due_ms: int


class Intake:
    """One for each agent process; used in one thread.

    A run is begun once its partition was read to the end after it was assigned, so that a stop
    that came long ago is known.  It is begun once, also where the log gives its record again.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, InboxRecord] = OrderedDict()
        self._working: set[str] = set()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._places: dict[TopicPartition, deque[tuple[int, str | None]]] = {}
        self._ready: set[TopicPartition] = set()
        self._now_ms: dict[TopicPartition, int] = {}

    def taken(self, tps: Iterable[TopicPartition]) -> None:
        """These partitions are read from their committed place on."""
        for tp in tps:
            self._places[tp] = deque()

    def lost(self, tps: Collection[TopicPartition]) -> None:
        """Another process reads them; it begins what waits here.  What is begun goes on."""
        for tp in tps:
            self._places.pop(tp, None)
            self._ready.discard(tp)
        for letter in [letter for letter in self._waiting.values() if letter.tp in tps]:
            del self._waiting[letter.run_id]

    def reached(self, tps: Collection[TopicPartition]) -> None:
        """Read to their ends."""
        self._ready |= set(tps) & self._places.keys()

    def passed(self, record: Record, run_id: str | None = None) -> None:
        """A record was read.  run_id: of the run that it asks for, None when it asks for none."""
        tp = TopicPartition(record.topic, record.partition)
        places = self._places.setdefault(tp, deque())
        if places and places[-1][0] >= record.offset:  # it was lost and taken within one poll
            places.clear()
        places.append((record.offset, run_id))
        self._now_ms[tp] = record.timestamp

    def asked(self, letter: InboxRecord) -> None:
        """A record asks for a run."""
        known = self._working, self._over, self._waiting
        if not any(letter.run_id in runs for runs in known):
            self._waiting[letter.run_id] = letter
        self.passed(letter.record, letter.run_id)

    def stopped(self, run_id: str) -> bool:
        """A run has ended without this agent; whether it was begun."""
        begun = run_id in self._working
        self._waiting.pop(run_id, None)
        self.ended(run_id)
        return begun

    def next(self) -> InboxRecord | None:
        """The run to be begun now, in the order of the log; None when there is none."""
        while (found := self._first()) is not None:
            del self._waiting[found.run_id]
            if found.due_ms + PATIENCE_MS >= self._now_ms[found.tp]:
                self._working.add(found.run_id)
                return found
            self.ended(found.run_id)
        return None

    def _first(self) -> InboxRecord | None:
        return next((one for one in self._waiting.values() if one.tp in self._ready), None)

    def ended(self, run_id: str) -> None:
        """Answered, and acknowledged; or there is nothing to be answered any more."""
        self._working.discard(run_id)
        self._over[run_id] = None
        while len(self._over) > REMEMBERED:
            self._over.popitem(last=False)

    def done(self) -> Iterator[tuple[TopicPartition, int]]:
        """Partitions and the offsets below which all is done, where that is further than before."""
        for tp, places in self._places.items():
            reached = None
            while places and not self._is_open(places[0][1]):
                reached = places.popleft()[0] + 1
            if reached is not None:
                yield tp, reached

    def _is_open(self, run_id: str | None) -> bool:
        return run_id is not None and (run_id in self._waiting or run_id in self._working)
