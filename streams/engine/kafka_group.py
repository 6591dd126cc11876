"""A member of a Kafka consumer group that finishes records in any order.

`streams.engine.kafka` makes the client.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from streams.engine.kafka_records import record_of
from streams.engine.kafka_refusals import refusal_of
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable

Offsets = dict[TopicPartition, int]


class Polled(NamedTuple):
    """The result of one poll.

    taken, lost: partitions assigned or revoked since the last poll; apply `lost` first.
    ends: by partition that is read to its end, the offset there.  joined: whether the group has
    assigned partitions.
    """

    records: list[Record]
    taken: Collection[TopicPartition]
    lost: Collection[TopicPartition]
    ends: Mapping[TopicPartition, int]
    joined: bool


class KafkaGroup:
    """One member of the group.

    One thread polls and closes, and is the only one to call the client, which blocks all others
    until a poll returns.  Any thread may call `done`, which never waits.
    Offsets passed to `done` are committed in the background, at a rebalance and by `close`.
    """

    def __init__(
        self,
        consumer: Any,
        make_partition: Any,
        topics: Sequence[str],
        end_code: int,
    ) -> None:
        """Subscribe to the topics.

        make_partition: the client's class of topic and partition.  end_code: its error code of a
        partition's end.
        """
        self._consumer, self._make_partition, self._end_code = consumer, make_partition, end_code
        self._lock = threading.Lock()
        self._owned: set[TopicPartition] = set()
        self._taken: set[TopicPartition] = set()
        self._lost: set[TopicPartition] = set()
        self._done: dict[TopicPartition, int] = {}
        self._joined = False
        consumer.subscribe(
            list(topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_revoke,
        )

    def _on_assign(self, consumer: Any, partitions: Any) -> None:
        taken = _partitions(partitions)
        self._joined = True
        self._taken |= taken
        with self._lock:
            self._owned |= taken

    def _on_revoke(self, consumer: Any, partitions: Any) -> None:
        revoked = _partitions(partitions)
        self._taken -= revoked
        self._lost |= revoked
        with self._lock:
            self._owned -= revoked
        self._store_done()

    def poll(self, timeout_s: float, max_records: int = 1000) -> Polled:
        """Return new records, as soon as there are any.  Raises BrokerUnavailable."""
        self._store_done()
        messages = self._consumer.consume(1, timeout_s)  # for more it would wait for all
        if messages:
            lost = set(self._lost)
            more = self._consumer.consume(max_records, 0)
            revoked = self._lost - lost  # meanwhile; the new owner reads these too
            messages = [m for m in messages if _partition_of(m) not in revoked] + more
        records: list[Record] = []
        ends: dict[TopicPartition, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                records.append(record_of(message))
            elif error.code() == self._end_code:
                ends[_partition_of(message)] = message.offset()
            elif refusal := refusal_of(error):
                raise refusal
            elif error.fatal():
                raise BrokerUnavailable(f"reading {message.topic()}: {error.str()}")
        taken, lost, self._taken, self._lost = self._taken, self._lost, set(), set()
        return Polled(records, taken, lost, ends, self._joined)

    def pause(self) -> None:
        """Deliver no records of the partitions that are assigned now, until `resume`.

        A poll still keeps the membership.  The polling thread calls this.
        """
        self._consumer.pause([self._make_partition(*tp) for tp in self._owned])

    def resume(self) -> None:
        """Deliver records of all assigned partitions again.  The polling thread calls this."""
        self._consumer.resume([self._make_partition(*tp) for tp in self._owned])

    def done(self, tp: TopicPartition, offset: int) -> None:
        """Mark all records of the partition below this offset as done, unless it was revoked."""
        with self._lock:
            if tp in self._owned:
                self._done[tp] = offset

    def _store_done(self) -> None:
        """Store offsets for the next commit.

        The polling thread calls it, also during a rebalance.
        """
        with self._lock:
            next_offsets, self._done = self._done, {}
        if next_offsets:
            offsets = [self._make_partition(*tp, offset) for tp, offset in next_offsets.items()]
            self._consumer.store_offsets(offsets=offsets)

    def close(self) -> None:
        """Commit what is done and leave the group."""
        self._store_done()
        self._consumer.close()


def _partition_of(message: Any) -> TopicPartition:
    return TopicPartition(message.topic(), message.partition())


def _partitions(partitions: Any) -> set[TopicPartition]:
    return {TopicPartition(partition.topic, partition.partition) for partition in partitions}
