"""All processors, in the order that decides between timers due at one time."""

from __future__ import annotations

from topology.declarations import Kind, ProcessorDeclaration, Table, Topic
from topology.protocols import DECLARED

ALL: tuple[ProcessorDeclaration, ...] = tuple(
    processor for each in DECLARED for processor in each.processors
)


def inputs() -> tuple[Topic, ...]:
    """The inputs of all processors, each once, in declared order."""
    return tuple(dict.fromkeys(topic for processor in ALL for topic in processor.inputs))


def readers_of(topic: Topic) -> tuple[ProcessorDeclaration, ...]:
    return tuple(processor for processor in ALL if topic in processor.inputs)


def writers_of(topic: Topic) -> tuple[ProcessorDeclaration, ...]:
    """The processors that write the topic; clients write commands and collectors besides.

    The shared changelog is written on behalf of whoever owns a table that is not public.
    """
    if topic.kind is Kind.CHANGELOG:
        return tuple(p for p in ALL if any(table.topic is None for table in p.tables))
    return tuple(processor for processor in ALL if topic in processor.outputs)


def written_by_clients(topic: Topic) -> bool:
    """Whether agents, users and operators write it too; what was judged is written by one only."""
    return topic.kind in (Kind.COMMAND, Kind.COLLECTOR) and not topic.own_partition


def owner_of(table: Table) -> ProcessorDeclaration | None:
    """The processor that owns the table; None for one that the engine keeps or clients write."""
    return next((processor for processor in ALL if table in processor.tables), None)
