"""The vocabulary in which the topology is declared: topics, tables, processors.  Pure data.

A topic, a table and a processor is declared once, in its protocol's file or in `topology.core`;
all other code refers to the constant, never to a name in a string.  So a declaration is equal to
itself only, and quick to find in a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

KeyOf = Callable[[Mapping[str, Any]], str]
"""The record key that a value (in its JSON form) has; raises KeyUnknown if it lacks a part."""


class TopicKind(StrEnum):
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
class Header:
    """A header of records.

    optional: not every record has it.  binary: its value is no text.
    schema: what JSON Schema says of the text, beyond that it is one.
    """

    name: str
    meaning: str
    optional: bool = False
    binary: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """One Kafka topic.  `name` is without the prefix of the environment.

    record: Avro full name of the value, None where values are raw bytes.
    key: what the record key holds, in words.
    key_of: makes the record key from a value; None where values do not say it.
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
    operators_only: a command topic on which agents may write nothing.
    headers: what its records have beside the headers of all topics of its kind.
    """

    name: str
    kind: TopicKind
    record: str | None
    key: str
    meaning: str
    key_of: KeyOf | None = None
    retention_ms: int | None = None
    max_bytes: int = 1 << 20
    config: tuple[tuple[str, str], ...] = ()
    secret: bool = False
    own_partition: bool = False
    keyed_fact: bool = False
    retried: bool = False
    keeps_latest: bool = False
    withdraws: bool = False
    operators_only: bool = False
    headers: tuple[Header, ...] = ()

    @property
    def nullable(self) -> bool:
        """Return whether a record without value is a withdrawal, and so not a dead letter."""
        return self.keeps_latest or self.withdraws

    @property
    def compacted(self) -> bool:
        return self.kind in (TopicKind.TABLE, TopicKind.CHANGELOG) or self.keeps_latest

    @property
    def is_input(self) -> bool:
        """Read by processors: LogAppendTime, and the same partition count as all other inputs."""
        return (
            self.kind in (TopicKind.COMMAND, TopicKind.COLLECTOR, TopicKind.INTERNAL)
            or self.keyed_fact
        )

    @property
    def same_partition(self) -> bool:
        """Return whether records go to the partition number of the task that writes them."""
        return self.own_partition or (self.kind is TopicKind.FACT and not self.keyed_fact)

    @property
    def internal(self) -> bool:
        """Return whether processors write it for processors: an unreadable record is the service's
        fault.
        """
        return self.kind is TopicKind.INTERNAL or self.keyed_fact


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
    caught_up: bool = False


def public_table(topic: Topic, *, copied_parts: int | None = None, fresh: bool = False) -> Table:
    """Return the table whose rows are the records of a compacted topic."""
    assert topic.record is not None
    return Table(
        topic.name,
        topic.record,
        key=topic.key,
        meaning=topic.meaning,
        topic=topic,
        copied_parts=copied_parts,
        caught_up=fresh,
    )


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
    global_tables: tuple[Table, ...] = field(default=())
    linger_ms: int = 0


class NodeKind(NamedTuple):
    """A kind of node in the lineage graph.

    form: of a node's name; what stands in angle brackets is an id.  escaped: the ids in it are,
    as parts of a composite key, with `%2F` for `/` and `%25` for `%`.
    """

    form: str
    meaning: str
    escaped: bool = False

    @property
    def name(self) -> str:
        return self.form.partition(":<")[0]


@dataclass(frozen=True, slots=True)
class ProtocolTopology:
    """All that one protocol declares; `topology.protocols` lists the protocols.

    topics: in the order of documents and ACLs.
    verdicts: by command topic, where the verdict on a record of it lies.
    node_kinds: of the nodes that it adds to the lineage graph.
    """

    name: str
    topics: tuple[Topic, ...]
    processors: tuple[ProcessorDeclaration, ...]
    verdicts: Mapping[Topic, tuple[Topic, ...]]
    node_kinds: tuple[NodeKind, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that its processors own or copy, each once."""
        used = (table for each in self.processors for table in (*each.tables, *each.global_tables))
        return tuple(dict.fromkeys(used))
