"""A group's member: what one poll tells, and of what it may say that it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from streams.engine.kafka_group import KafkaGroup
from streams.engine.records import TopicPartition
from streams.errors import AccessDenied, BrokerUnavailable
from tests.unit.engine.kafka_messages import END, GONE, TOPIC, TP, Fault, Message, PartitionOffset

OTHER = TopicPartition(TOPIC, 1)


class Behind(NamedTuple):
    """What happens while more is asked for, after a first message has come."""

    happens: Callable[[Consumer], object]


class Consumer:
    """In place of the Kafka client.  polls: each a list of messages, or what happens meanwhile."""

    def __init__(self, *polls: list[Message] | Behind | Callable[[Consumer], object]) -> None:
        self.polls = list(polls)
        self.stored: list[PartitionOffset] = []
        self.paused: set[TopicPartition] = set()
        self.closed = False

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        assert topics == [TOPIC]
        self.on = callbacks

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        if not timeout_s and not (self.polls and isinstance(self.polls[0], list | Behind)):
            return []
        step = self.polls.pop(0) if self.polls else []
        if isinstance(step, list):
            if len(step) > count:
                self.polls.insert(0, step[count:])
            return step[:count]
        happens = step.happens if isinstance(step, Behind) else step
        happens(self)
        return []

    def store_offsets(self, offsets: list[PartitionOffset]) -> None:
        self.stored += offsets

    def pause(self, partitions: list[PartitionOffset]) -> None:
        self.paused |= {TopicPartition(each.topic, each.partition) for each in partitions}

    def resume(self, partitions: list[PartitionOffset]) -> None:
        self.paused -= {TopicPartition(each.topic, each.partition) for each in partitions}

    def close(self) -> None:
        self.closed = True


def taken(*tps: TopicPartition) -> Callable[[Consumer], object]:
    return lambda one: one.on["on_assign"](one, [PartitionOffset(*tp) for tp in tps])


def lost(way: str, *tps: TopicPartition) -> Callable[[Consumer], object]:
    return lambda one: one.on[way](one, [PartitionOffset(*tp) for tp in tps])


def group(*polls: Any) -> tuple[KafkaGroup, Consumer]:
    consumer = Consumer(*polls)
    return KafkaGroup(consumer, PartitionOffset, [TOPIC], END), consumer


def test_a_poll_brings_records_and_ends() -> None:
    member, _ = group([Message(4), Message(5), Message(6, Fault(END)), Message(9, None, OTHER)])
    result = member.poll(1)
    assert [(record.partition, record.offset) for record in result.records] == [
        (0, 4),
        (0, 5),
        (1, 9),
    ]
    assert (result.ends, result.joined) == ({TP: 6}, False)


def test_partitions_are_told_once() -> None:
    member, _ = group(taken(TP, OTHER), lost("on_revoke", TP), taken())
    first, second, third = member.poll(1), member.poll(1), member.poll(1)
    assert (first.taken, first.lost, first.joined) == ({TP, OTHER}, set(), True)
    assert (second.taken, second.lost) == (set(), {TP})
    assert (third.taken, third.lost) == (set(), set())


def test_a_member_without_partitions_has_joined_too() -> None:
    member, _ = group(taken())
    assert member.poll(1).joined


def test_what_is_taken_again_was_lost_first() -> None:
    def both(consumer: Consumer) -> None:
        lost("on_lost", TP)(consumer)
        taken(TP)(consumer)

    member, _ = group(taken(TP), both)
    member.poll(1)
    result = member.poll(1)
    assert (result.lost, result.taken) == ({TP}, {TP})


@pytest.mark.parametrize("way", ["on_revoke", "on_lost"])
def test_only_what_is_held_can_be_done(way: str) -> None:
    member, consumer = group(taken(TP, OTHER), lost(way, OTHER))
    member.done(TP, 1)
    member.poll(1)
    member.done(TP, 5)
    member.poll(1)
    member.done(TP, 6)
    member.done(OTHER, 7)
    member.close()
    assert consumer.stored == [PartitionOffset(*TP, 5), PartitionOffset(*TP, 6)]


def test_only_who_polls_speaks_to_the_client() -> None:
    """Which makes any other thread wait until a poll returns."""
    member, consumer = group(taken(TP))
    member.poll(1)
    member.done(TP, 4)
    member.done(TP, 5)
    assert consumer.stored == []
    member.poll(1)
    assert consumer.stored == [PartitionOffset(*TP, 5)]


def test_what_is_done_is_stored_before_its_partition_goes() -> None:
    member: KafkaGroup

    def done_and_lost(consumer: Consumer) -> None:
        member.done(TP, 8)
        lost("on_revoke", TP)(consumer)

    member, consumer = group(taken(TP), done_and_lost)
    member.poll(1)
    member.poll(1)
    assert consumer.stored == [PartitionOffset(*TP, 8)]


def test_a_record_whose_partition_goes_as_it_comes_is_left_to_who_has_it_then() -> None:
    first = [Message(4)]
    member, _ = group(taken(TP, OTHER), first, Behind(lost("on_revoke", TP)))
    member.poll(1)
    result = member.poll(1)
    assert (result.records, result.lost) == ([], {TP})


def test_a_record_of_a_partition_that_stays_is_kept() -> None:
    first = [Message(4)]
    member, _ = group(taken(TP, OTHER), first, Behind(lost("on_revoke", OTHER)))
    member.poll(1)
    result = member.poll(1)
    assert ([record.offset for record in result.records], result.lost) == ([4], {OTHER})


def test_a_group_that_is_not_ours_to_join_is_said() -> None:
    member, _ = group([Message(0, Fault(GONE, called="GROUP_AUTHORIZATION_FAILED"))])
    with pytest.raises(AccessDenied, match="so it is"):
        member.poll(1)


def test_an_error_that_passes_is_left_to_the_client() -> None:
    member, _ = group([Message(0, Fault(GONE)), Message(4)])
    assert [record.offset for record in member.poll(1).records] == [4]


def test_an_error_that_stays_is_raised() -> None:
    member, _ = group([Message(0, Fault(GONE, True))])
    with pytest.raises(BrokerUnavailable, match="so it is"):
        member.poll(1)


def test_closing_leaves_the_group() -> None:
    member, consumer = group()
    member.close()
    assert consumer.closed


def test_what_is_assigned_is_paused_and_resumed() -> None:
    member, consumer = group(taken(TP, OTHER), lost("on_revoke", OTHER))
    member.poll(1)
    member.pause()
    assert consumer.paused == {TP, OTHER}
    member.poll(1)
    member.resume()
    assert consumer.paused == {OTHER}
