"""What the contract suite needs of a log besides the contract itself, for both logs."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import (
    KafkaException,
    Producer,
)
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from schemas import decode
from streams.engine.kafka import KafkaLog
from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, Record, TopicPartition
from streams.settings import Settings
from tests.processes import wait_for
from tests.toy import FACTS, RECORD, toy_topics
from topology.declarations import Topic

PATIENCE_S = 60


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    wait_for(condition, "the condition is met", PATIENCE_S, look_s=0)


def start_ms() -> int:
    return time.time_ns() // 1_000_000


class OpenTransaction(ABC):
    """Of somebody else.  It ends once; its markers may come a moment after that."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...


class Twin(ABC):
    """One log with the toy's topics under a prefix of their own.

    clock: for tasks and, in memory, for LogAppendTime; `pass_ms` moves it.
    """

    log: Any

    def __init__(self, partitions: int = 1) -> None:
        self.prefix = f"t{uuid.uuid4().hex[:10]}."
        self.partitions = partitions
        self.ahead_ms = 0

    @abstractmethod
    def clock(self) -> int: ...

    def pass_ms(self, ms: int) -> None:
        self.ahead_ms += ms

    def settings(self, **more: Any) -> Settings:
        return Settings.load({}, prefix=self.prefix, partitions=self.partitions, **more)

    def name(self, topic: Topic) -> str:
        return self.prefix + topic.name

    def topic_id(self, topic: Topic) -> str:
        name = self.name(topic)
        ids: dict[str, str] = self.log.topic_ids([name])
        return ids[name]

    def tp(self, topic: Topic, partition: int = 0) -> TopicPartition:
        return TopicPartition(self.name(topic), partition)

    def specs(self) -> list[NewTopic]:
        return toy_topics(self.partitions, self.prefix)

    def create(self) -> None:
        self.log.create(self.specs())

    def read(self, topic: Topic) -> list[Record]:
        """Every committed record of a topic's partition 0, a commit just made included."""
        tp = self.tp(topic)
        end = self.high_watermark(tp)
        records: list[Record] = []

        def more() -> bool:
            records.extend(reader.poll(0.1))
            return bool(reader.position(tp) >= end)

        with self.log.reader(self.log.starts([tp])) as reader:
            until(more)
        return records

    def facts(self) -> list[dict[str, str]]:
        """What the facts of the toy say."""
        return [decode(r.value, RECORD).value["data"] for r in self.read(FACTS)]

    def recreate(self, topic: Topic) -> None:
        """Delete a topic, and create it again."""
        spec = next(s for s in self.specs() if s.name == self.name(topic))
        self.remove(spec.name)
        self.log.create([spec])

    def high_watermark(self, tp: TopicPartition) -> int:
        """What is written, committed or not: the last stable offset may not show a commit yet."""
        return int(self.log.high_watermarks([tp])[tp])

    @abstractmethod
    def remove(self, name: str) -> None: ...

    @abstractmethod
    def truncate(self, tp: TopicPartition, start: int) -> None:
        """Delete all records below start, as retention does."""

    @abstractmethod
    def begin(self, outputs: Sequence[Output]) -> OpenTransaction:
        """Write records in a transaction of somebody else, which stays open."""

    def abort(self, outputs: Sequence[Output]) -> None:
        """Write records in a transaction that is then aborted."""
        self.begin(outputs).abort()

    @abstractmethod
    def close(self) -> None: ...


class MemoryTransaction(OpenTransaction):
    def __init__(self, log: MemoryLog, outputs: Sequence[Output]) -> None:
        self._log = log
        self._held = [(tp, log.hold(tp)) for tp in {topic_partition(output) for output in outputs}]
        self._written = log.append(
            [o._replace(partition=topic_partition(o).partition) for o in outputs]
        )

    def commit(self) -> None:
        for tp, offset in self._held:
            self._log.slots(tp).append(None)  # the marker
            self._log.release(tp, offset)

    def abort(self) -> None:
        for record in self._written:
            self._log.slots(TopicPartition(record.topic, record.partition))[record.offset] = None
        self.commit()


class MemoryTwin(Twin):
    def __init__(self, partitions: int = 1) -> None:
        super().__init__(partitions)
        self.log: MemoryLog = MemoryLog(self.clock)
        self._start = start_ms()

    def clock(self) -> int:
        return self._start + self.ahead_ms

    def remove(self, name: str) -> None:
        self.log.delete(name)

    def truncate(self, tp: TopicPartition, start: int) -> None:
        self.log.truncate(tp, start)

    def begin(self, outputs: Sequence[Output]) -> MemoryTransaction:
        return MemoryTransaction(self.log, outputs)

    def close(self) -> None:
        self.log.close()


class KafkaTransaction(OpenTransaction):
    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def commit(self) -> None:
        self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        self._producer.abort_transaction(PATIENCE_S)


class KafkaTwin(Twin):
    """admin and log are shared by all tests; topics are not."""

    def __init__(self, bootstrap: str, log: KafkaLog, group: str, partitions: int = 1) -> None:
        super().__init__(partitions)
        self.log: KafkaLog = log
        self._group = group
        self._begun = 0
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def clock(self) -> int:
        return start_ms() + self.ahead_ms

    def remove(self, name: str) -> None:
        self.log.delete([name])
        until(lambda: name not in self.log.topics())

    def truncate(self, tp: TopicPartition, start: int) -> None:
        futures = self._admin.delete_records([KafkaPartition(*tp, start)])
        for future in futures.values():
            future.result(PATIENCE_S)

    def producer(self, name: str = "other") -> Producer:
        """A transactional producer of somebody else."""
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": f"{self.prefix}{name}",
                "linger.ms": 0,
            }
        )
        producer.init_transactions(PATIENCE_S)
        return producer

    def begin(self, outputs: Sequence[Output]) -> KafkaTransaction:
        self._begun += 1
        producer = self.producer(f"other-{self._begun}")
        producer.begin_transaction()
        produce(producer, outputs)
        return KafkaTransaction(producer)

    def close(self) -> None:
        for future in self._admin.delete_topics([s.name for s in self.specs()]).values():
            try:
                future.result(PATIENCE_S)
            except KafkaException:
                continue  # the test itself has deleted it


def topic_partition(output: Output) -> TopicPartition:
    return TopicPartition(output.topic, output.partition or 0)


def produce(producer: Producer, outputs: Sequence[Output]) -> None:
    """Into the open transaction, and onto the broker."""
    for output in outputs:
        producer.produce(output.topic, output.value, output.key, output.partition or 0)
    assert producer.flush(PATIENCE_S) == 0
