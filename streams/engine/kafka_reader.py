"""Reading assigned partitions of Kafka, without a group.

The client itself is made by `streams.engine.kafka`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from streams.engine.kafka_refusals import refusal_of
from streams.engine.kafka_words import record_of
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable, HeadraceError


class KafkaReader:
    """Assigned partitions, read_committed, no group."""

    def __init__(self, consumer: Any, place: Any, positions: Mapping[TopicPartition, int]) -> None:
        """place: makes the client's own topic, partition and offset."""
        self._consumer, self._place = consumer, place
        self._positions = dict(positions)
        self._failed: HeadraceError | None = None
        # Absolute, never OFFSET_BEGINNING: to look that up takes the client half a second.
        consumer.assign([place(*tp, offset) for tp, offset in positions.items()])

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]:
        """Raises BrokerUnavailable and others; what came with an error is returned before it."""
        self._raise_failed()
        records: list[Record] = []
        messages = self._consumer.consume(1, timeout_s)  # of more it would wait for the last
        if messages and max_records > 1:
            messages += self._consumer.consume(max_records - 1, 0)
        for message in messages:
            tp = TopicPartition(message.topic(), message.partition())
            error = message.error()
            if error is None:
                records.append(record_of(message))
                self._positions[tp] = message.offset() + 1
            elif error.name() == "_PARTITION_EOF":
                self._positions[tp] = max(self._positions[tp], message.offset())
            elif refused := refusal_of(error):
                self._failed = refused
            elif error.fatal() or error.name() == "_AUTO_OFFSET_RESET":
                said = f"reading {tp.topic}/{tp.partition}: {error.str()}"
                self._failed = BrokerUnavailable(said)
        if not records:
            self._raise_failed()
        return records

    def _raise_failed(self) -> None:
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def position(self, tp: TopicPartition) -> int:
        return self._positions[tp]

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self._consumer.seek(self._place(*tp, offset))
        self._positions[tp] = offset

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
