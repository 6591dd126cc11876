"""What the Kafka client takes and returns, in the words of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams.engine.records import LogRecord, Output


def record_of(message: Any) -> LogRecord:
    """Without its headers where one has a name that is not UTF-8: the client cannot tell them, and
    what it returns then must not be looked at."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    place = topic, partition, offset, message.timestamp()[1], message.key(), message.value()
    try:
        return LogRecord(*place, message.headers() or ())
    except (UnicodeDecodeError, SystemError):  # the latter: "returned a result with an exception"
        return LogRecord(*place)


def placed_record(output: Output, message: Any) -> LogRecord:
    stamp = max(0, message.timestamp()[1])
    partition, offset = message.partition(), message.offset()
    return LogRecord(
        output.topic, partition, offset, stamp, output.key, output.value, output.headers
    )


def topic_id(description: Any) -> str:
    uuid = description.topic_id
    bits = (uuid.get_most_significant_bits(), uuid.get_least_significant_bits())
    return "".join(f"{part & (1 << 64) - 1:016x}" for part in bits)


def produce(producer: Any, output: Output, delivered: Callable[[Any, Any], None]) -> None:
    """Hand a record over; delivered gets the error, or None, and the message."""
    more: dict[str, Any] = {}
    if output.partition is not None:
        more["partition"] = output.partition
    if output.timestamp is not None:
        more["timestamp"] = output.timestamp
    while True:
        try:
            producer.produce(
                output.topic,
                output.value,
                output.key,
                on_delivery=delivered,
                headers=list(output.headers),
                **more,
            )
            return
        except BufferError:  # the client's queue is full: let it drain
            producer.poll(0.1)
