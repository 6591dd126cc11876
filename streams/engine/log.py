"""The log contract.  Two logs keep it, Kafka (`streams.engine.kafka`) and the in-memory one
(`streams.engine.memory`), under one test suite (`tests/contract`).

All calls block but `submit`.  Every reader is read_committed: records of open or aborted
transactions are never seen.  A position is the offset of the next record; transaction markers
take offsets too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from streams.engine.records import Output, Record, TopicPartition


class TopicInfo(NamedTuple):
    """A topic as the log has it."""

    name: str
    partitions: int


class NewTopic(NamedTuple):
    """A topic to be created, full name, with its broker configuration.

    replicas: None for the brokers' default.
    """

    name: str
    partitions: int
    config: Mapping[str, str]
    replicas: int | None = None


class Producer(Protocol):
    """The transactional producer of one task: one transaction per commit."""

    def open(self) -> None:
        """init_transactions: abort what a former owner of this id left open, and fence it."""

    def commit(self, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        """Write all outputs, or nothing.

        Returns, per partition written, the offset after the last record written there.
        Raises errors.Fenced when another owner has opened this id, errors.CommitFailed when the
        transaction was aborted or its outcome is in doubt, errors.BrokerUnavailable when Kafka
        does not answer: reopen, never redo in place.
        """

    def close(self) -> None: ...


class Pace(Enum):
    """What a reader is in a hurry for; every fetch that returns costs the broker and the reader."""

    END = "to see the end of the log, which shows only when a fetch returns"
    LIVE = "to have each record at once; ends show within 100 ms"
    GATHERED = "for neither: records of 15 ms come together, from many topics"


class Reader(Protocol):
    """Reads assigned partitions from given positions, without a consumer group.

    Positions lie between `starts` and `ends`; others make `poll` raise errors.BrokerUnavailable.
    """

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]: ...

    def position(self, tp: TopicPartition) -> int:
        """The next offset: everything below it was returned or is invisible (markers, aborted)."""

    def seek(self, tp: TopicPartition, offset: int) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...


class Log(Protocol):
    """Where records live."""

    def cluster_id(self) -> str: ...

    def topics(self) -> dict[str, TopicInfo]:
        """Every topic by full name."""

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        """Ids of these topics; one that is deleted and created again has another.

        Not to be asked all the time: Kafka's client keeps 120 bytes of each answer for good.
        Raises errors.TopicsMismatch when one is missing.
        """

    def create(self, topics: Sequence[NewTopic]) -> None:
        """Create topics that are missing; one that is there already is left as it is."""

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        """Write outside of transactions, idempotent, acknowledged by all replicas.

        Returns the records with their places on the log, in the order given (timestamp 0 where
        the client is not told).  Raises errors.ProduceUnknown when the outcome is unknown.
        """

    def submit(self, outputs: Sequence[Output]) -> Future[list[Record]]:
        """As append, without waiting: the future is done when these records are.

        It is done within bounded time, whatever Kafka does.  Any thread may call this.
        """

    def starts(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The earliest offset kept."""

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The last stable offset (LSO), asked for now.

        Kafka answers a commit before its markers are on every partition, so right after a commit
        this may still lie below what was written there.
        """

    def high_watermarks(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of all that is written, committed or not: who has read to it has seen every
        transaction that was answered before the question."""

    def reader(self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END) -> Reader: ...

    def producer(self, transactional_id: str) -> Producer: ...

    def close(self) -> None: ...
