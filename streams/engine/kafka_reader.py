"""A Kafka reader of assigned partitions, without a group.

`streams.engine.kafka` makes the client.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from streams.engine.kafka_clients import MAX_MESSAGE
from streams.engine.kafka_records import record_of
from streams.engine.kafka_refusals import refusal_of
from streams.engine.records import LogRecord, Record, TopicPartition
from streams.errors import BrokerUnavailable, HeadraceError

log = logging.getLogger(__name__)
_ANSWER_S = 10


class KafkaReader:
    """A read_committed reader of assigned partitions (the `Reader` contract)."""

    def __init__(
        self, consumer: Any, make_partition: Any, positions: Mapping[TopicPartition, int]
    ) -> None:
        """Assign the partitions at these positions.

        make_partition: the client's class of topic, partition and offset.
        """
        self._consumer, self._make_partition = consumer, make_partition
        self._positions = dict(positions)
        self._failure: HeadraceError | None = None
        # Absolute, never OFFSET_BEGINNING: the client needs half a second to look that up.
        consumer.assign([make_partition(*tp, offset) for tp, offset in positions.items()])

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]:
        """Return new records; records that came with an error are returned before it is raised.

        Raises BrokerUnavailable and its subclasses.
        """
        self._raise_failure()
        records: list[Record] = []
        messages = self._consumer.consume(1, timeout_s)  # for more it would wait for all
        if messages and max_records > 1:
            messages += self._consumer.consume(max_records - 1, 0)
        for message in messages:
            tp = TopicPartition(message.topic(), message.partition())
            error = message.error()
            if error is None:
                records.append(_without_bomb(record_of(message)))
                self._positions[tp] = message.offset() + 1
            elif error.name() == "_PARTITION_EOF":
                self._positions[tp] = max(self._positions[tp], message.offset())
            elif error.name() == "_BAD_COMPRESSION":
                records += self._pass_over(tp, message.offset())
            elif refusal := refusal_of(error):
                self._failure = refusal
            elif error.fatal() or error.name() == "_AUTO_OFFSET_RESET":
                detail = f"reading {tp.topic}/{tp.partition}: {error.str()}"
                self._failure = BrokerUnavailable(detail)
        if not records:
            self._raise_failure()
        return records

    def _pass_over(self, tp: TopicPartition, offset: int) -> list[Record]:
        """Go on behind a record that the client does not inflate, which it would fetch for ever.

        It is corrupt, or its batch is larger than `message.max.bytes`.  As in workers, which
        dead-letter it, it is a record of an empty value.
        """
        if offset < self._positions[tp]:
            return []
        log.warning("%s/%d/%d cannot be inflated: it is read without content", *tp, offset)
        self.seek(tp, offset + 1)
        return [LogRecord(*tp, offset, 0, None, b"")]

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def position(self, tp: TopicPartition) -> int:
        return self._positions[tp]

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self._consumer.seek(self._make_partition(*tp, offset))
        self._positions[tp] = offset

    def first_since(self, at_ms: int) -> dict[TopicPartition, int]:
        times = [self._make_partition(*tp, at_ms) for tp in self._positions]
        try:
            partitions = self._consumer.offsets_for_times(times, timeout=_ANSWER_S)
        except Exception as exc:  # the client's, which only `streams.engine.kafka` names
            error = exc.args[0]
            raise refusal_of(error) or BrokerUnavailable(f"looking up a time: {exc}") from exc
        for each in partitions:
            if each.error is not None:
                place = f"{each.topic}/{each.partition}"
                detail = f"looking up a time in {place}: {each.error.str()}"
                raise refusal_of(each.error) or BrokerUnavailable(detail)
        return {
            TopicPartition(each.topic, each.partition): each.offset
            for each in partitions
            if each.offset >= 0
        }

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _without_bomb(record: LogRecord) -> LogRecord:
    """Return a record without content if it is larger than any that may be written.

    The client has inflated it, since it bounds zstd only; nobody shall copy or store it too.  Its
    key is kept, so that an operator can write it anew.
    """
    key_size, value_size = len(record.key or b""), len(record.value or b"")
    if key_size + value_size <= MAX_MESSAGE:
        return record
    log.warning("%s/%d/%d is too large: it is read without content", *record[:3])
    key = record.key if key_size <= MAX_MESSAGE else None
    return LogRecord(*record[:4], key, b"")
