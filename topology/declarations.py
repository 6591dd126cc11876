"""The vocabulary in which the topology is declared: topics, tables, processors.  Pure data.

A topic, a table and a processor is declared once, in `topology.topics`, `topology.tables` and
`topology.processors`; all other code refers to the constant, never to a name in a string.  So a
declaration is equal to itself only, and quick to find in a dict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a topic is for, which decides who may write it and how it is kept."""

    COMMAND = "command"  # written by clients; each record is owed one verdict
    COLLECTOR = "collector"  # written by clients and by several processors
    INTERNAL = "internal"  # from processor to processor
    FACT = "fact"  # what the service decided
    INBOX = "inbox"  # what an agent should now read
    AUDIT = "audit"  # what operators' tools did or attest; no processor writes it
    TABLE = "table"  # compacted; the latest row per key
    CHANGELOG = "changelog"  # compacted; rows of the tables that are not public
    DEAD_LETTER = "dead letter"  # bytes that could not be judged


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """One Kafka topic.  `name` is without the prefix of the environment.

    record: Avro full name of the value, None where values are raw bytes.
    key: what the record key holds, in words.
    retention_ms: None keeps records for ever (compacted topics always keep the latest row).
    max_bytes: the topic's `max.message.bytes`.
    secret: values may hold secrets, so what is kept of one that cannot be judged is masked.
    own_partition: records go to the partition number of the task that writes them, not by their
      key; so it is with facts, and with what no processor reads.
    chained: a fact that another processor reads too, and that therefore goes by its key.
    asked_again: of an internal topic: what is said there is asked for until it is answered, so a
      record that cannot be read is set aside, and the task goes on.
    keeps_latest: a command topic that is compacted too: the latest record of a key is what holds
      now, and a null value says that nothing does.
    withdraws: a command topic where a null value withdraws what its key names, too.
    """

    name: str
    kind: Kind
    record: str | None
    key: str
    meaning: str
    retention_ms: int | None = None
    max_bytes: int = 1 << 20
    config: tuple[tuple[str, str], ...] = ()
    secret: bool = False
    own_partition: bool = False
    chained: bool = False
    asked_again: bool = False
    keeps_latest: bool = False
    withdraws: bool = False

    @property
    def takes_null(self) -> bool:
        """A record without value is a withdrawal, and no dead letter."""
        return self.keeps_latest or self.withdraws

    @property
    def compacted(self) -> bool:
        return self.kind in (Kind.TABLE, Kind.CHANGELOG) or self.keeps_latest

    @property
    def is_input(self) -> bool:
        """Read by processors: LogAppendTime, and the same partition count as all other inputs."""
        return self.kind in (Kind.COMMAND, Kind.COLLECTOR, Kind.INTERNAL) or self.chained

    @property
    def stays(self) -> bool:
        """Its records go to the partition number of the task that writes them."""
        return self.own_partition or (self.kind is Kind.FACT and not self.chained)

    @property
    def between(self) -> bool:
        """From processor to processor: one that cannot be read is the service's fault."""
        return self.kind is Kind.INTERNAL or self.chained


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of one processor.  Public tables are their own changelog topic, the others share one.
    Rows of a table whose topic is a command topic are what clients wrote, unjudged.

    topic: the compacted topic of a public table, None for an internal table.
    record: Avro full name of a row.
    key: what the row key holds, in words.
    lifetime_ms: how long a row is kept after its terminal state; None is for ever.
    copied_parts: workers that copy this table keep only rows whose key has this many parts.
    fresh: a copy is read to the topic's end before each step that asks it, so that what was
      acknowledged before is seen; else it is as fresh as it has been read.
    """

    name: str
    record: str
    key: str
    meaning: str
    topic: Topic | None = None
    lifetime_ms: int | None = None
    copied_parts: int | None = None
    fresh: bool = False


def public(topic: Topic, *, fresh: bool = False) -> Table:
    """The table whose rows are the records of a compacted topic."""
    assert topic.record is not None
    record, key, meaning = topic.record, topic.key, topic.meaning
    return Table(topic.name, record, key=key, meaning=meaning, topic=topic, fresh=fresh)


@dataclass(frozen=True, slots=True, eq=False)
class ProcessorDeclaration:
    """One processor: what it reads, owns and writes.

    inputs: in the order that decides between records of equal timestamp.
    outputs: every topic it writes, in the order in which one transaction lists them.
    tables: the tables it owns; it is their only writer.
    copies: tables of which every worker keeps a read-only copy for it, all partitions of them:
      those of others, and of its own one that is asked by other keys than its inputs have.
    gather_ms: how long its records may wait for others when their task has nothing else to do, so
      that one transaction serves more of them.
    """

    name: str
    meaning: str
    inputs: tuple[Topic, ...]
    outputs: tuple[Topic, ...]
    tables: tuple[Table, ...] = field(default=())
    copies: tuple[Table, ...] = field(default=())
    gather_ms: int = 0
