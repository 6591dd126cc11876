"""All processors, in the order that decides between timers due at one time."""

from __future__ import annotations

from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.protocols import DECLARED

ALL: tuple[ProcessorDeclaration, ...] = tuple(
    processor for each in DECLARED for processor in each.processors
)


def inputs() -> tuple[Topic, ...]:
    """Return the inputs of all processors, each once, in declared order."""
    return tuple(dict.fromkeys(topic for processor in ALL for topic in processor.inputs))


def readers_of(topic: Topic) -> tuple[ProcessorDeclaration, ...]:
    return tuple(processor for processor in ALL if topic in processor.inputs)


def writers_of(topic: Topic) -> tuple[ProcessorDeclaration, ...]:
    """Return the processors that write the topic; clients also write commands and collectors.

    The shared changelog is written for every processor that owns a table that is not public.
    """
    if topic.kind is TopicKind.CHANGELOG:
        return tuple(p for p in ALL if any(table.topic is None for table in p.tables))
    return tuple(processor for processor in ALL if topic in processor.outputs)


def written_by_clients(topic: Topic) -> bool:
    """Return whether agents, users and operators write the topic too.

    A topic with `own_partition` is written by processors only.
    """
    return topic.kind in (TopicKind.COMMAND, TopicKind.COLLECTOR) and not topic.own_partition


def owner_of(table: Table) -> ProcessorDeclaration | None:
    """Return the processor that owns the table; None if the engine or clients write it."""
    return next((processor for processor in ALL if table in processor.tables), None)
