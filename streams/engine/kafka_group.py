"""A consumer group on Kafka for a reader that is done with records in any order.

The client itself is made by `streams.engine.kafka`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any, NamedTuple

from streams.engine.kafka_refusals import refusal_of
from streams.engine.kafka_words import record_of
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable


class Polled(NamedTuple):
    """What one poll brought.

    taken, lost: partitions that this member has from now on, or no longer; lost comes first.
    ends: partitions that are read to their end.  joined: whether it has become a member.
    """

    records: list[Record]
    taken: Collection[TopicPartition]
    lost: Collection[TopicPartition]
    ends: Collection[TopicPartition]
    joined: bool


class KafkaGroup:
    """One member.  One thread polls and closes, and is alone with the client, which makes any
    other wait until a poll returns; `done` is for any thread and never waits.

    Offsets that are `done` are committed in the background, at a rebalance and by `close`.
    """

    def __init__(self, consumer: Any, place: Any, topic: str, ends: int) -> None:
        """place: makes the client's own topic and partition.  ends: its code for one's end."""
        self._consumer, self._place, self._end = consumer, place, ends
        self._lock = threading.Lock()
        self._held: set[TopicPartition] = set()
        self._taken: set[TopicPartition] = set()
        self._lost: set[TopicPartition] = set()
        self._done: dict[TopicPartition, int] = {}
        self._joined = False
        consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )

    def _assigned(self, consumer: Any, places: Any) -> None:
        taken = _partitions(places)
        self._joined = True
        self._taken |= taken
        with self._lock:
            self._held |= taken

    def _revoked(self, consumer: Any, places: Any) -> None:
        gone = _partitions(places)
        self._taken -= gone
        self._lost |= gone
        with self._lock:
            self._held -= gone
        self._store_done()

    def poll(self, timeout_s: float, max_records: int = 1000) -> Polled:
        """What is there, at once when there is something.  Raises BrokerUnavailable."""
        self._store_done()
        messages = self._consumer.consume(1, timeout_s)  # of more it would wait for the last
        if messages:
            lost = set(self._lost)
            more = self._consumer.consume(max_records, 0)
            gone = self._lost - lost  # meanwhile: who has them now is given this one too
            messages = [m for m in messages if _place_of(m) not in gone] + more
        records: list[Record] = []
        ends: set[TopicPartition] = set()
        for message in messages:
            error = message.error()
            if error is None:
                records.append(record_of(message))
            elif error.code() == self._end:
                ends.add(_place_of(message))
            elif refused := refusal_of(error):
                raise refused
            elif error.fatal():
                raise BrokerUnavailable(f"reading {message.topic()}: {error.str()}")
        taken, lost, self._taken, self._lost = self._taken, self._lost, set(), set()
        return Polled(records, taken, lost, ends, self._joined)

    def done(self, tp: TopicPartition, offset: int) -> None:
        """All records of the partition below this offset are done with; no matter if it is lost."""
        with self._lock:
            if tp in self._held:
                self._done[tp] = offset

    def _store_done(self) -> None:
        """For the next commit.  Called by the thread that polls, also while it rebalances."""
        with self._lock:
            done, self._done = self._done, {}
        if done:
            reached = [self._place(*tp, offset) for tp, offset in done.items()]
            self._consumer.store_offsets(offsets=reached)

    def close(self) -> None:
        """Commits what is done, and leaves the group."""
        self._store_done()
        self._consumer.close()


def _place_of(message: Any) -> TopicPartition:
    return TopicPartition(message.topic(), message.partition())


def _partitions(places: Any) -> set[TopicPartition]:
    return {TopicPartition(place.topic, place.partition) for place in places}
