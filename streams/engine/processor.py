"""The contract of a processor: a pure function over its tables and a batch of records or timers.

No I/O, no wall clock, no random.  Time is the record's timestamp or the tick's.  A batch that
raises is tried again in halves until the record that raises stands alone; it becomes a dead
letter.  So a processor must not keep anything between calls but what it writes through `Work`.
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
      timestamps are ints (ms).  Empty where the topic `takes_null` and the record's value is null:
      a withdrawal.  body: the Avro bytes as they came, without framing.
    current: the writer's schema is this version's own, so that `body` may be spliced as it is.
    """

    topic: Topic
    record: Record
    value: AvroValue
    body: bytes
    current: bool


@dataclass(frozen=True, slots=True)
class Timer:
    """A row of the timer table.  Equal due times fire in the order of (kind, key).

    due_ms: when.  kind: which timer of the processor, e.g. `apc.ttl`.  key: whose.
    data: strings the processor wants back.
    """

    due_ms: int
    kind: str
    key: str
    data: Mapping[str, str]


class Rows(Protocol):
    """One table as a processor sees it: this cycle's rows, those in flight, then the store's."""

    def load(self, keys: Iterable[str]) -> None:
        """Fetch rows that will be asked for, in one call; only a matter of speed."""

    def get(self, key: str) -> AvroValue | None:
        """A row of the caller's own: change it and `put` it back, or leave it."""

    def put(self, key: str, row: AvroValue) -> None: ...

    def delete(self, key: str) -> None: ...


class Index(Protocol):
    """What is derived from the rows of a copy, one by one."""

    def update(self, key: str, row: AvroValue | None) -> None:
        """A row has changed; None: it is gone or cannot be read."""


Made = TypeVar("Made", bound=Index)


class Copy(Protocol):
    """A read-only copy of a whole table, as far as this worker has read what was committed.

    A verdict that uses a row records the figures it saw.
    """

    def get(self, key: str) -> AvroValue | None: ...

    def index(self, make: Callable[[], Made]) -> Made:
        """Of a table that is `fresh`: what `make` makes, kept by the worker and brought up to date.

        All processors that ask get the same, so it is made once; it says nothing that the rows
        do not.
        """

    def indexed(self) -> list[int]:
        """How far the index has been brought: the next offset of each partition."""


class TooLarge(Exception):
    """An output exceeds its topic's limit; `size` is what it would have taken, in bytes."""

    def __init__(self, topic: Topic, size: int) -> None:
        super().__init__(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")
        self.topic = topic
        self.size = size


class Work(Protocol):
    """What one decide step reads and writes; dropped as a whole when it raises."""

    partition: int
    partitions: int
    """The number of this task, and P, the partition count of all inputs."""
    settings: Mapping[str, Any]
    """Settings by name without HEADRACE_, of the type that streams.settings declares."""
    cause: str
    """Position of the record (of a timer: its packet's) being judged.  Set it before changing
    rows: table records carry it in their header."""

    def rows(self, table: Table) -> Rows: ...

    def copy(self, table: Table) -> Copy: ...

    def sender(self, cause: str) -> str | None:
        """The principal who sent the record at that position, of those that are being judged; None
        when nobody has proved it."""

    def vouch(self, cause: str, principal: str | None) -> None:
        """That of a record that has waited in a row, as `sender` said then."""

    def attempt(self, part: Callable[[Work], None]) -> Exception | None:
        """Decide a part by itself, a record that waited behind others: when it raises, or causes
        too much (TooLarge), nothing of it counts, and that is returned."""

    def set_aside(self, topic: Topic, record: Record, failure: Exception) -> None:
        """Make a dead letter of such a record, of a topic that is not `secret`."""

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
        """Write one record.  id, at (ms), cause (position) and traceparent become its headers,
        before those given.

        Facts go to the task's own partition number, others by their key.  A field of the value
        that is itself a record may be given as `schemas.AvroBody` (bytes to be spliced).
        """

    def set_timer(self, timer: Timer) -> None: ...

    def delete_timer(self, due_ms: int, kind: str, key: str) -> None: ...


class Processor(Protocol):
    """What the engine runs.  One instance per task; settings come with `Work`."""

    declaration: ProcessorDeclaration

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        """Judge the records in order.  Pure."""

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        """Timers that are due at `now_ms`, by due time, kind, key.  Pure."""

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        """The outputs of this record exceed `topic.max_bytes`: write the coded refusal instead."""

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        """What the dead-letter topic keeps of an input's key or value; for a topic that is not
        `secret`, the bytes as they are."""
