"""What a Kafka client gives to who reads."""

from __future__ import annotations

from typing import NamedTuple

from streams.engine.records import TopicPartition

TOPIC = "summit.inbox"
END, GONE = -191, -1
TP = TopicPartition(TOPIC, 0)


class PartitionOffset(NamedTuple):
    topic: str
    partition: int
    offset: int = -1


class Fault(NamedTuple):
    number: int
    is_fatal: bool = False
    called: str = "_TRANSPORT"

    def name(self) -> str:
        return self.called

    def code(self) -> int:
        return self.number

    def fatal(self) -> bool:
        return self.is_fatal

    def str(self) -> str:
        return "so it is"


class Message(NamedTuple):
    at: int
    fault: Fault | None = None
    where: TopicPartition = TP

    def error(self) -> Fault | None:
        return self.fault

    def topic(self) -> str:
        return self.where.topic

    def partition(self) -> int:
        return self.where.partition

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000

    def headers(self) -> None:
        return None

    def key(self) -> bytes:
        return b"a"

    def value(self) -> bytes:
        return b"v"
