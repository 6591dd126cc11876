"""The vocabulary in which the topology is declared: topics, tables, processors.  Pure data.

A topic, a table and a processor is declared once, in its protocol's file or in `topology.core`;
all other code refers to the constant, never to a name in a string.  So a declaration is equal to
itself only, and quick to find in a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from schemas.codec import MAX_ITEMS, MAX_SENT_ITEMS

KeyOf = Callable[[Mapping[str, Any]], str]
"""The record key that a value (in its JSON form) has; raises KeyUnknown if it lacks a part."""


class TopicKind(StrEnum):
    """The purpose of a topic, which decides who may write it and how long it is kept."""

    COMMAND = "command"  # written by clients; each record gets one verdict
    COLLECTOR = "collector"  # written by clients and by several processors
    INTERNAL = "internal"  # from processor to processor
    FACT = "fact"  # decisions of the service
    INBOX = "inbox"  # messages for one agent
    AUDIT = "audit"  # actions of operators' tools; no processor writes it
    DOOR = "door"  # compacted; what gateways keep for a door: they write it and read it
    TABLE = "table"  # compacted; the latest row per key
    CHANGELOG = "changelog"  # compacted; rows of the tables that are not public
    DEAD_LETTER = "dead letter"  # records that could not be decoded or decided


@dataclass(frozen=True, slots=True, eq=False)
class Header:
    """A header of records.

    optional: not every record has it.  binary: its value is not text.
    schema: JSON Schema keywords for the text.
    """

    name: str
    meaning: str
    optional: bool = False
    binary: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Topic:
    """One Kafka topic.  `name` is without the prefix of the environment.

    record: Avro full name of the value, None where values are raw bytes.
    key: a description of the record key.
    key_of: makes the record key from a value; None where the value does not determine it.
    retention_ms: None keeps records forever (compacted topics always keep the latest row).
    max_bytes: the topic's `max.message.bytes`.
    secret: values may contain secrets, so dead letters of the topic are masked.
    own_partition: records go to the partition number of the task that writes them, whatever their
      key, as facts do.
    keyed_fact: another processor reads the fact too, so it is partitioned by its key.
    retried: requests on this internal topic are resent until answered, so an unreadable one goes
      to the dead letters instead of stopping the task.
    keeps_latest: a command topic that is also compacted: the latest record of a key is in force,
      and a null value withdraws it.
    withdraws: a command topic where a null value withdraws the thing that its key names.
    operators_only: a command topic that agents may not write.
    headers: headers of its records besides those of all topics of its kind.
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
        return self.keeps_latest or self.withdraws or self.kind is TopicKind.DOOR

    @property
    def compacted(self) -> bool:
        compacted = (TopicKind.TABLE, TopicKind.CHANGELOG, TopicKind.DOOR)
        return self.kind in compacted or self.keeps_latest

    @property
    def is_input(self) -> bool:
        """Return whether processors read it; all inputs have the same number of partitions."""
        return (
            self.kind in (TopicKind.COMMAND, TopicKind.COLLECTOR, TopicKind.INTERNAL)
            or self.keyed_fact
        )

    @property
    def max_items(self) -> int:
        """Return the most items of lists and maps, together, in a value."""
        sent = self.kind in (TopicKind.COMMAND, TopicKind.COLLECTOR)
        return MAX_SENT_ITEMS if sent else MAX_ITEMS

    @cached_property
    def same_partition(self) -> bool:
        """Return whether records go to the partition number of the task that writes them."""
        return self.own_partition or (self.kind is TopicKind.FACT and not self.keyed_fact)

    @cached_property
    def internal(self) -> bool:
        """Return whether processors write it for processors."""
        return self.kind is TopicKind.INTERNAL or self.keyed_fact

    @cached_property
    def carries_cloudevents(self) -> bool:
        """Return whether its records have the headers of CloudEvents."""
        return self.kind in (TopicKind.FACT, TopicKind.INBOX)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rows of one processor.  A public table is its own changelog topic; the others share one.

    Clients write the rows of a table whose topic is a command topic, and nothing decides them.

    topic: the compacted topic of a public table, None for an internal table.
    record: Avro full name of a row.
    key: a description of the row key.
    lifetime_ms: how long a row is kept after its terminal state; None is forever.
    copied_parts: the global table contains only rows whose key has this many parts.
    caught_up: the global table is read to the topic's end before each step that uses it, so that
      every row acknowledged before is seen; otherwise it follows the topic.
    written_once: rows whose key has this many parts are written once: of several records of such a
      key the first one stands, and later ones are refused.
    absent_if_refused: a row of which only forged records are left counts as absent, since a missing
      one costs a computation only; rows of other tables are marked as refused.
    replicated_if: the name of a setting; the global table exists only where it is on.
    limited_by: the name of a setting, the most bytes of the rows of all global tables that name it:
      those of the keys, by their first part, that were written last.  They are written once.
    fact_key_of: the topic is one of facts, and the global table has some of them as rows: those for
      which this returns a key.  A row then has one more member, the fact's `position`.
    """

    name: str
    record: str
    key: str
    meaning: str
    topic: Topic | None = None
    lifetime_ms: int | None = None
    copied_parts: int | None = None
    caught_up: bool = False
    written_once: int | None = None
    absent_if_refused: bool = False
    replicated_if: str | None = None
    limited_by: str | None = None
    fact_key_of: Callable[[Mapping[str, Any]], str | None] | None = None


def public_table(
    topic: Topic,
    *,
    copied_parts: int | None = None,
    caught_up: bool = False,
    written_once: int | None = None,
    absent_if_refused: bool = False,
    replicated_if: str | None = None,
    limited_by: str | None = None,
) -> Table:
    """Return the table whose rows are the records of a compacted topic."""
    assert topic.record is not None
    return Table(
        topic.name,
        topic.record,
        key=topic.key,
        meaning=topic.meaning,
        topic=topic,
        copied_parts=copied_parts,
        caught_up=caught_up,
        written_once=written_once,
        absent_if_refused=absent_if_refused,
        replicated_if=replicated_if,
        limited_by=limited_by,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ProcessorDeclaration:
    """One processor: its inputs, outputs and tables.

    inputs: in the order that decides between records with equal timestamps.
    outputs: every topic it writes, in the order in which one transaction lists them.
    tables: the tables it owns; it is their only writer.
    global_tables: tables that every worker replicates with all partitions, read-only: tables of
      other processors, and its own ones that it reads by other keys than those of its inputs.
    linger_ms: how long its records may wait for others when their task is idle, so that one
      transaction serves more of them.
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

    form: the form of a node's name, with ids in angle brackets.  escaped: ids are escaped as parts
    of a composite key, with `%2F` for `/` and `%25` for `%`.
    """

    form: str
    meaning: str
    escaped: bool = False

    @property
    def name(self) -> str:
        return self.form.partition(":<")[0]


@dataclass(frozen=True, slots=True)
class ProtocolTopology:
    """The declarations of one protocol; `topology.protocols` lists the protocols.

    topics: in the order of documents and ACLs.
    verdicts: by command topic, the topics with the verdicts on its records.
    node_kinds: the kinds of nodes that it adds to the lineage graph.
    """

    name: str
    topics: tuple[Topic, ...]
    processors: tuple[ProcessorDeclaration, ...]
    verdicts: Mapping[Topic, tuple[Topic, ...]]
    node_kinds: tuple[NodeKind, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that its processors own or copy, each once, without copied facts."""
        used = (table for each in self.processors for table in (*each.tables, *each.global_tables))
        return tuple(dict.fromkeys(table for table in used if table.fact_key_of is None))
