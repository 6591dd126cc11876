"""Conversions between the Kafka client's objects and the engine's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams.engine.records import LogRecord, Output


def record_of(message: Any) -> LogRecord:
    """Convert a message to a record, without its headers if a header's name is not UTF-8.

    The client cannot return such headers; what it returns then must not be touched.
    """
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    position = topic, partition, offset, message.timestamp()[1], message.key(), message.value()
    try:
        return LogRecord(*position, message.headers() or ())
    except (UnicodeDecodeError, SystemError):  # SystemError: "returned a result with an exception"
        return LogRecord(*position)


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


Delivered = Callable[[Any, Any], None]


def produce(producer: Any, output: Output, delivered: Delivered | None) -> None:
    """Hand over a record; `delivered`, if any, is called with the error or None, and the message.

    A report costs a third of the call.
    """
    options: dict[str, Any] = {}
    if delivered is not None:
        options["on_delivery"] = delivered
    if output.partition is not None:
        options["partition"] = output.partition
    if output.timestamp is not None:
        options["timestamp"] = output.timestamp
    while True:
        try:
            producer.produce(
                output.topic,
                output.value,
                output.key,
                headers=list(output.headers),
                **options,
            )
            return
        except BufferError:  # the client's queue is full: let it drain
            producer.poll(0.1)


def reported(outputs: Sequence[Output]) -> list[bool]:
    """Return which records of a transaction must report their offset.

    The last one of each partition must, and each one whose partition the client chooses.  A record
    that fails without a report makes the commit fail all the same.
    """
    last = {(o.topic, o.partition): n for n, o in enumerate(outputs) if o.partition is not None}
    numbers = set(last.values())
    return [o.partition is None or n in numbers for n, o in enumerate(outputs)]


def listed(answer: Any) -> int:
    """Return the offset that was listed for a partition.

    Raises TimeoutError for none: the client reports no error for a broker that is too slow.
    """
    offset: int = answer.offset
    if offset < 0:
        raise TimeoutError
    return offset
