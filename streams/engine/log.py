"""The contract of the log.

Two logs implement it, Kafka (`streams.engine.kafka`) and the in-memory one
(`streams.engine.memory`), under one test suite (`tests/contract`).

All calls block except `submit`.  Every reader is read_committed: records of open or aborted
transactions are never returned.  A position is the offset of the next record; transaction markers
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
    """An existing topic."""

    name: str
    partitions: int


class NewTopic(NamedTuple):
    """A topic to create, with its full name and its broker configuration.

    replicas: None for the brokers' default.
    """

    name: str
    partitions: int
    config: Mapping[str, str]
    replicas: int | None = None


class Producer(Protocol):
    """The transactional producer of one task: one transaction per commit."""

    def open(self) -> None:
        """Fence the former owner of this id and abort its open transaction (init_transactions)."""

    def commit(self, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        """Write all outputs, or nothing.

        Returns, per partition written, the offset after the last record written there.
        Raises errors.Fenced when another owner has opened this id, errors.CommitFailed when the
        transaction was aborted or its outcome is in doubt, errors.BrokerUnavailable when Kafka
        does not answer: reopen then, never retry in place.
        """

    def close(self) -> None: ...


class Pace(Enum):
    """The priority of a reader; every fetch that returns costs the broker and the reader."""

    END = "to see the end of the log, which shows only when a fetch returns"
    LIVE = "to have each record at once; ends show within 100 ms"
    GATHERED = "for neither: records of 15 ms come together, from many topics"
    FEW = "for single records: batches are fetched, and inflated, one after the other"


class Reader(Protocol):
    """A reader of assigned partitions from given positions, without a consumer group.

    Positions must be between `starts` and `ends`; others make `poll` raise
    errors.BrokerUnavailable.
    """

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]: ...

    def position(self, tp: TopicPartition) -> int:
        """Return the next offset.

        All records below it were returned, or are invisible (markers, aborted).
        """

    def seek(self, tp: TopicPartition, offset: int) -> None: ...

    def first_since(self, at_ms: int) -> dict[TopicPartition, int]:
        """Return the first offset of each partition whose record has this timestamp or a later one.

        at_ms: since the epoch, from 0 on.  A partition without such a record is left out.
        Raises errors.BrokerUnavailable.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...


class Log(Protocol):
    """The topics of one cluster, with their readers and producers."""

    def cluster_id(self) -> str: ...

    def topics(self) -> dict[str, TopicInfo]:
        """Return every topic by full name."""

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        """Return the ids of these topics; a topic that is deleted and created again has another id.

        Do not call it often: Kafka's client leaks 120 bytes per answer.
        Raises errors.TopicsMismatch when a topic is missing.
        """

    def create(self, topics: Sequence[NewTopic]) -> None:
        """Create topics that are missing; existing ones stay as they are."""

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        """Write outside of transactions, idempotent, acknowledged by all replicas.

        Returns the records with their partitions and offsets, in the order given (timestamp 0 where
        the client does not report it).  Raises errors.ProduceUnknown when the outcome is unknown.
        """

    def submit(self, outputs: Sequence[Output]) -> Future[list[Record]]:
        """Write like `append` without waiting: the future is done when these records are.

        It is done within bounded time, whatever Kafka does.  Any thread may call this.
        """

    def starts(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the current last stable offset (LSO) of each partition.

        Kafka acknowledges a commit before its markers are on every partition, so right after a
        commit this may still be below the records written there.
        """

    def high_watermarks(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end of all records, committed or not.

        A reader that has reached it has seen every transaction that was acknowledged before this
        call.
        """

    def committed(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets of the workers' group, which they commit each second for lag tools.

        A partition of which none was committed is left out.  Raises errors.AccessDenied.
        """

    def reader(self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END) -> Reader: ...

    def producer(self, transactional_id: str) -> Producer: ...

    def close(self) -> None: ...
