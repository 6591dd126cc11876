"""A reader of assigned partitions: an error among records loses none of them."""

from __future__ import annotations

import pytest

from streams.engine import kafka_reader
from streams.engine.kafka_reader import KafkaReader
from streams.engine.records import TopicPartition
from streams.errors import AccessDenied, BrokerUnavailable
from tests.unit.engine.kafka_messages import END, GONE, TOPIC, TP, Fault, Message, PartitionOffset

OTHER = TopicPartition(TOPIC, 1)
REFUSED = Fault(GONE, called="TOPIC_AUTHORIZATION_FAILED")
RESET = Fault(GONE, called="_AUTO_OFFSET_RESET")


class Consumer:
    """In place of the Kafka client, with these messages."""

    def __init__(self, *messages: Message) -> None:
        self.messages = list(messages)

    def assign(self, places: list[PartitionOffset]) -> None:
        self.assigned = places

    def seek(self, place: PartitionOffset) -> None:
        self.sought = place

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        messages, self.messages = self.messages[:count], self.messages[count:]
        return messages


def reader(*messages: Message) -> KafkaReader:
    return KafkaReader(Consumer(*messages), PartitionOffset, {TP: 4, OTHER: 0})


@pytest.mark.parametrize(("fault", "error"), [(REFUSED, AccessDenied), (RESET, BrokerUnavailable)])
def test_what_came_with_an_error_is_given_before_it(fault: Fault, error: type[Exception]) -> None:
    reads = reader(Message(4), Message(0, fault, OTHER), Message(5))
    assert [record.offset for record in reads.poll(1)] == [4, 5]
    assert (reads.position(TP), reads.position(OTHER)) == (6, 0)
    with pytest.raises(error):
        reads.poll(1)
    assert reads.poll(1) == []


def test_an_error_alone_is_raised_at_once() -> None:
    with pytest.raises(AccessDenied):
        reader(Message(0, REFUSED, OTHER)).poll(1)


def test_an_end_moves_the_position_over_what_is_no_record() -> None:
    reads = reader(Message(4), Message(7, Fault(END, called="_PARTITION_EOF")))
    assert [record.offset for record in reads.poll(1)] == [4]
    assert reads.position(TP) == 7


def test_a_batch_that_the_client_does_not_inflate_is_a_record_without_content() -> None:
    """Check that it is what a worker makes of it, once, and that what lies behind it is read."""
    bomb = Message(4, Fault(GONE, called="_BAD_COMPRESSION"))
    reads = reader(bomb, bomb, Message(5))
    assert [(each.offset, each.key, each.value) for each in reads.poll(1)] == [
        (4, None, b""),
        (5, b"a", b"v"),
    ]
    assert reads.position(TP) == 6


def test_a_record_above_the_largest_message_is_a_record_without_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check what the client has inflated of a codec that it does not bound."""
    monkeypatch.setattr(kafka_reader, "MAX_MESSAGE", 1)
    (record,) = reader(Message(4)).poll(1)
    assert (record.offset, record.key, record.value) == (4, b"a", b"")
    monkeypatch.setattr(kafka_reader, "MAX_MESSAGE", 0)
    (record,) = reader(Message(5)).poll(1)
    assert (record.offset, record.key, record.value) == (5, None, b"")
