"""Members of a consumer group on a real Kafka, who read in one thread and are done in others."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Self

import pytest

from streams.engine.kafka import KafkaLog
from streams.engine.kafka_group import KafkaGroup
from streams.engine.records import Output, Record, TopicPartition
from tests.contract.twins import KafkaTwin, until
from tests.toy import FACTS

PARTITIONS = 4
MEMBERS = f"contract-members-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def log(broker: str) -> Iterator[KafkaLog]:
    """It tells what the members have committed."""
    log = KafkaLog(broker, {}, MEMBERS)
    yield log
    log.close()


@pytest.fixture
def twin(broker: str, log: KafkaLog) -> Iterator[KafkaTwin]:
    twin = KafkaTwin(broker, log, MEMBERS, PARTITIONS)
    twin.create()
    yield twin
    twin.close()


class Member:
    """One thread polls.  Another says, without a pause, that all that was read is done."""

    def __init__(self, group: KafkaGroup) -> None:
        self.held: set[TopicPartition] = set()
        self.read: list[Record] = []
        self._group = group
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._poll, self._say_done)
        ]

    def _poll(self) -> None:
        while not self._stop.is_set():
            polled = self._group.poll(0.1)
            self.held = (self.held - set(polled.lost)) | set(polled.taken)
            self.read += polled.records

    def _say_done(self) -> None:
        while not self._stop.is_set():
            for record in list(self.read):
                tp = TopicPartition(record.topic, record.partition)
                self._group.done(tp, record.offset + 1)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "a member does not come back from its client"
        self._group.close()


def places(twin: KafkaTwin) -> list[TopicPartition]:
    return [twin.tp(FACTS, number) for number in range(PARTITIONS)]


def write_to_each(twin: KafkaTwin) -> None:
    twin.log.append(
        [Output(twin.name(FACTS), b"k", b"v", (), number) for number in range(PARTITIONS)]
    )


def test_partitions_change_hands_while_records_are_said_to_be_done(
    twin: KafkaTwin, log: KafkaLog
) -> None:
    """Each of these was waiting for the other: who polls for who is done, and who is done for
    the client that somebody polls."""
    write_to_each(twin)
    with ExitStack() as members:
        first = members.enter_context(Member(log.group(MEMBERS, twin.name(FACTS))))
        until(lambda: len(first.read) == PARTITIONS)
        with Member(log.group(MEMBERS, twin.name(FACTS))) as second:
            until(lambda: len(first.held) == len(second.held) == PARTITIONS // 2)
            assert first.held | second.held == set(places(twin))
        until(lambda: len(first.held) == PARTITIONS)
        until(lambda: log.committed(places(twin)) == dict.fromkeys(places(twin), 1))
    assert {(record.partition, record.offset) for record in first.read} == {
        (number, 0) for number in range(PARTITIONS)
    }


def test_what_was_done_last_is_committed_by_leaving(twin: KafkaTwin, log: KafkaLog) -> None:
    write_to_each(twin)
    group = log.group(MEMBERS, twin.name(FACTS))
    read: list[Record] = []

    def all_read() -> bool:
        read.extend(group.poll(0.1).records)
        return len(read) == PARTITIONS

    until(all_read)
    for record in read:
        group.done(TopicPartition(record.topic, record.partition), record.offset + 1)
    group.close()
    assert log.committed(places(twin)) == dict.fromkeys(places(twin), 1)


def read_all(group: KafkaGroup, count: int) -> list[Record]:
    """Poll until so many records are read."""
    records: list[Record] = []

    def are_read() -> bool:
        records.extend(group.poll(0.1).records)
        return len(records) >= count

    until(are_read)
    return records


def test_a_new_group_begins_where_is_committed_before_anybody_joins(
    twin: KafkaTwin, log: KafkaLog
) -> None:
    name = f"{MEMBERS}-begins"
    write_to_each(twin)
    begins = log.ends(places(twin))
    group = log.group(name, twin.name(FACTS), begins=begins)  # it joins with its first poll
    assert log.committed(places(twin), name) == begins
    group.close()
    write_to_each(twin)
    group = log.group(name, twin.name(FACTS))
    assert {record.offset for record in read_all(group, PARTITIONS)} == {1}
    group.close()


def test_a_group_with_members_goes_on_where_it_is(twin: KafkaTwin, log: KafkaLog) -> None:
    name = f"{MEMBERS}-members"
    write_to_each(twin)
    first = log.group(name, twin.name(FACTS))
    read_all(first, PARTITIONS)
    second = log.group(name, twin.name(FACTS), begins=log.ends(places(twin)))
    assert log.committed(places(twin), name) == {}
    second.close()
    first.close()


def test_a_group_with_offsets_goes_on_where_it_is(twin: KafkaTwin, log: KafkaLog) -> None:
    name = f"{MEMBERS}-offsets"
    write_to_each(twin)
    group = log.group(name, twin.name(FACTS))
    for record in read_all(group, PARTITIONS):
        group.done(TopicPartition(record.topic, record.partition), 1)
    group.close()
    log.group(name, twin.name(FACTS), begins=dict.fromkeys(places(twin), 0)).close()
    assert log.committed(places(twin), name) == dict.fromkeys(places(twin), 1)


def test_a_paused_member_gets_no_records_and_stays(twin: KafkaTwin, log: KafkaLog) -> None:
    group = log.group(f"{MEMBERS}-pauses", twin.name(FACTS))
    write_to_each(twin)
    read_all(group, PARTITIONS)
    group.pause()
    write_to_each(twin)
    paused = [group.poll(0.1) for _ in range(10)]
    assert [polled.records for polled in paused] == [[]] * 10
    assert not any(polled.lost for polled in paused)
    group.resume()
    assert {record.offset for record in read_all(group, PARTITIONS)} == {1}
    group.close()
