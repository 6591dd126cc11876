"""Every processor, declared once: what it reads, what it owns, what it writes."""

from __future__ import annotations

from topology import tables, topics
from topology.declarations import Kind, ProcessorDeclaration, Table, Topic

APC = ProcessorDeclaration(
    "apc",
    "judges packets, throttles transfers, delivers, waits for acknowledgements, retracts, verifies,"
    " promotes, and observes how each session and each agent coordinates",
    inputs=(topics.APC_PACKETS,),
    outputs=(
        topics.APC_EVENTS,
        topics.APC_PACKET_STATES,
        topics.APC_INBOX,
        topics.APC_THROTTLING,
        topics.APC_COORDINATION,
        topics.RTES_RAW,
        topics.LINEAGE_EDGES,
        topics.APC_TRANSFERS,
        topics.APC_PACKETS_DLQ,
    ),
    tables=(
        tables.PACKET_STATES,
        tables.COORDINATION,
        tables.THROTTLING,
        tables.APC_TASK_FACTS,
    ),
    copies=(tables.PROTOCOL_LINEAGE,),
)
APC_LINEAGE = ProcessorDeclaration(
    "apc-lineage",
    "sums up what each protocol's transfers and evaluations say, and decides which have decayed",
    inputs=(topics.APC_TRANSFERS,),
    outputs=(topics.APC_LINEAGE, topics.APC_DECISIONS, topics.APC_TRANSFERS_DLQ),
    tables=(tables.PROTOCOL_LINEAGE,),
)
RTES = ProcessorDeclaration(
    "rtes",
    "numbers and deduplicates the events of each session and keeps the state of its tasks",
    inputs=(topics.RTES_RAW,),
    outputs=(
        topics.RTES_EVENTS,
        topics.RTES_REJECTIONS,
        topics.SAOP_TASKS,
        topics.RTES_RAW_DLQ,
    ),
    tables=(tables.SAOP_TASK_STATES, tables.RTES_SESSIONS, tables.RTES_IDS),
)

ALL: tuple[ProcessorDeclaration, ...] = (APC, APC_LINEAGE, RTES)


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


def owner_of(table: Table) -> ProcessorDeclaration | None:
    """The processor that owns the table; None for a table that the engine keeps."""
    return next((processor for processor in ALL if table in processor.tables), None)
