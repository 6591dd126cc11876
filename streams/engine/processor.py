"""The contract of a processor: a pure function over its tables and a batch of records or timers.

No I/O, no wall clock, no random.  Time is the record's timestamp or the tick's.  A batch that
raises is split in halves and retried until the failing record is alone; it becomes a dead letter.
So a processor must not keep any state between calls except what it writes through its context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from streams.engine.records import Headers, Record
from topology.declarations import ProcessorDeclaration, Table, Topic

AvroValue = dict[str, Any]


class Message(NamedTuple):
    """A decoded input record.

    topic: the declaration (its name is without the prefix; `record.topic` has it).
    value: the Avro value; in a union of several records a branch is `(full name, value)`;
      timestamps are ints (ms).  Empty where the topic is nullable and the record's value is null:
      a withdrawal.  body: the Avro bytes as received, without framing.
    current: the writer's schema is this version's own, so that `body` may be spliced unchanged.
    """

    topic: Topic
    record: Record
    value: AvroValue
    body: bytes
    current: bool


@dataclass(frozen=True, slots=True)
class Timer:
    """A row of the timer table.  Equal due times fire in the order of (kind, key).

    kind: the processor's name of the timer, e.g. `apc.ttl`.  key: the row it belongs to.
    data: strings that the processor gets back.
    """

    due_ms: int
    kind: str
    key: str
    data: Mapping[str, str]


class Rows(Protocol):
    """One table as a processor sees it: this cycle's rows, those in flight, then the store's."""

    def load(self, keys: Iterable[str]) -> None:
        """Fetch rows in one call before `get`; this only saves time."""

    def get(self, key: str) -> AvroValue | None:
        """Return a row that belongs to the caller: change it and `put` it back, or leave it."""

    def put(self, key: str, row: AvroValue) -> None: ...

    def delete(self, key: str) -> None: ...


class Index(Protocol):
    """An index derived from the rows of a replicated table, one by one."""

    def update(self, key: str, row: AvroValue | None) -> None:
        """Apply a changed row; None: it was deleted or cannot be read."""


Made = TypeVar("Made", bound=Index)


class GlobalTable(Protocol):
    """A read-only replica of a whole table, as far as this worker has read committed records.

    A verdict that uses a row records the values it saw.
    """

    def get(self, key: str) -> AvroValue | None: ...

    def index(self, make: Callable[[], Made]) -> Made:
        """Return the index of a `fresh` table, built with `make` and updated by the worker.

        All processors share it, so it is built once; it must hold nothing that the rows do not.
        """

    def index_positions(self) -> list[int]:
        """Return the next offset of each partition, as far as the index is updated."""


class TooLarge(Exception):
    """An error for an output that exceeds its topic's limit; `size` is the output's bytes."""

    def __init__(self, topic: Topic, size: int) -> None:
        super().__init__(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")
        self.topic = topic
        self.size = size


class ProcessorContext(Protocol):
    """The reads and writes of one decide step; all are dropped when it raises."""

    partition: int
    partitions: int
    """`partition` is this task's number, `partitions` the partition count of all inputs."""
    settings: Mapping[str, Any]
    """Settings by name without HEADRACE_, with the types that streams.settings declares."""
    cause: str
    """The position of the record (of a timer: its packet's) that is being decided.  Set it before
    changing rows: table records carry it in their header."""

    def rows(self, table: Table) -> Rows: ...

    def global_table(self, table: Table) -> GlobalTable: ...

    def sender(self, cause: str) -> str | None:
        """Return the principal of the record at that position, one of those being decided.

        Returns None when it has no valid signature.
        """

    def set_principal(self, cause: str, principal: str | None) -> None:
        """Restore the principal of a record parked in a table, as `sender` returned it then."""

    def savepoint(self, part: Callable[[ProcessorContext], None]) -> Exception | None:
        """Decide a part by itself, such as a parked record.

        When it raises, or writes too much (TooLarge), its writes are dropped and the error is
        returned.
        """

    def send_to_dlq(self, topic: Topic, record: Record, failure: Exception) -> None:
        """Write a dead letter of such a record, whose topic is not `secret`."""

    def send(
        self,
        topic: Topic,
        key: str,
        value: AvroValue,
        *,
        id: str,
        at: int,
        cause: str,
        traceparent: bytes | None = None,
        headers: Headers = (),
    ) -> None:
        """Write one record.

        id, at (ms), cause (position) and traceparent become its headers, before those in `headers`.
        Facts go to the task's own partition number, others by their key.  A field of the value
        that is itself a record may be given as `schemas.AvroBody` (bytes to be spliced).
        """

    def set_timer(self, timer: Timer) -> None: ...

    def delete_timer(self, due_ms: int, kind: str, key: str) -> None: ...


class Processor(Protocol):
    """A processor that the engine runs, one instance per task.  Settings are in its context."""

    declaration: ProcessorDeclaration

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        """Decide the records in order.  Pure."""

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        """Fire the timers that are due at `now_ms`, sorted by due time, kind, key.  Pure."""

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        """Write the coded refusal for a record whose outputs exceed `topic.max_bytes`."""

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        """Return what the dead-letter topic stores of an input's key or value.

        For a topic that is not `secret` these are the bytes unchanged.
        """
