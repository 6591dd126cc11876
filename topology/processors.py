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
SAOP = ProcessorDeclaration(
    "saop",
    "puts the turns of each task in order, names the holes, and watches for agents that are stuck",
    inputs=(topics.SAOP_TURNS, topics.SAOP_TASK_SIGNALS),
    outputs=(
        topics.SAOP_VERDICTS,
        topics.SAOP_LOG,
        topics.SAOP_ESCALATIONS,
        topics.LINEAGE_EDGES,
        topics.SAOP_TURNS_DLQ,
        topics.SAOP_TASK_SIGNALS_DLQ,
    ),
    tables=(
        tables.SAOP_TURN_HEADS,
        tables.SAOP_TURNS_KNOWN,
        tables.SAOP_TURNS_HELD,
        tables.SAOP_DETECTORS,
    ),
)
RTES = ProcessorDeclaration(
    "rtes",
    "numbers, deduplicates and masks the events of each session, keeps the state of its tasks,"
    " calls and thought streams, and turns sessions back",
    inputs=(topics.RTES_RAW, topics.SAOP_REWINDS),
    outputs=(
        topics.RTES_EVENTS,
        topics.RTES_REJECTIONS,
        topics.SAOP_REWIND_LOG,
        topics.SAOP_TASK_SIGNALS,
        topics.LINEAGE_EDGES,
        topics.RTES_RAW_DLQ,
        topics.SAOP_REWINDS_DLQ,
        topics.SAOP_TASKS,
    ),
    tables=(
        tables.SAOP_TASK_STATES,
        tables.RTES_SESSIONS,
        tables.RTES_IDS,
        tables.RTES_CALLS,
        tables.RTES_THOUGHTS,
        tables.RTES_TASKS,
        tables.REWINDS,
    ),
    gather_ms=10,
)

SAP = ProcessorDeclaration(
    "sap",
    "judges tasks, results and signals, asks the cache, dispatches, enforces deadlines, and"
    " publishes the outcomes",
    inputs=(topics.SAP_TASKS, topics.SAP_RESULTS, topics.SAP_SIGNALS, topics.SAP_VERDICTS),
    outputs=(
        topics.SAP_ACKS,
        topics.SAP_OUTCOMES,
        topics.SAP_TASK_STATES,
        topics.RTES_RAW,
        topics.LINEAGE_EDGES,
        topics.SAP_INBOX,
        topics.SAP_LOOKUPS,
        topics.SAP_LEARNING_SIGNALS,
        topics.SAP_TASKS_DLQ,
        topics.SAP_RESULTS_DLQ,
        topics.SAP_SIGNALS_DLQ,
        topics.SAP_VERDICTS_DLQ,
    ),
    tables=(
        tables.SAP_TASK_STATES,
        tables.SAP_TASK_ENVELOPES,
        tables.SAP_RATE_LIMITS,
        tables.SAP_RESULT_HASHES,
        tables.SAP_SIGNAL_IDS,
        tables.SAP_SIGNAL_OPERATORS,
    ),
    copies=(tables.SAP_HEURISTICS,),
)
SAP_CACHE = ProcessorDeclaration(
    "sap-cache",
    "answers lookups from vetted records, checks them again, stores new ones once, and lets one"
    " task compute what many ask for",
    inputs=(topics.SAP_LOOKUPS,),
    outputs=(
        topics.SAP_CACHE,
        topics.LINEAGE_EDGES,
        topics.SAP_VERDICTS,
        topics.SAP_LOOKUPS_DLQ,
    ),
    tables=(
        tables.SAP_CACHE,
        tables.SAP_CACHE_HEADS,
        tables.SAP_CACHE_WAITS,
        tables.SAP_CACHE_STORES,
    ),
)
SAP_LEARNING = ProcessorDeclaration(
    "sap-learning",
    "sums up outcomes and operators' signals, and derives heuristics and playbooks from them",
    inputs=(topics.SAP_LEARNING_SIGNALS,),
    outputs=(
        topics.SAP_LEARNING,
        topics.SAP_HEURISTICS,
        topics.SAP_KNOWLEDGE,
        topics.LINEAGE_EDGES,
        topics.SAP_LEARNING_SIGNALS_DLQ,
    ),
    tables=(
        tables.SAP_LEARNING,
        tables.SAP_HEURISTICS,
        tables.SAP_KNOWLEDGE,
        tables.SAP_LEARNING_HEADS,
        tables.SAP_MEMBER_GROUPS,
        tables.SAP_MEMBER_TOTALS,
        tables.SAP_READING_BINS,
        tables.SAP_CHECK_COUNTERS,
        tables.SAP_LEARNING_BEST,
        tables.SAP_LEARNING_CITATIONS,
    ),
    gather_ms=100,
)
ASAP = ProcessorDeclaration(
    "asap",
    "judges envelopes and manifests, admits each task once, keeps its states and snapshots,"
    " delivers, answers, and ends what takes too long",
    inputs=(topics.ASAP_ENVELOPES, topics.ASAP_LINKS, topics.ASAP_MANIFESTS),
    outputs=(
        topics.ASAP_EVENTS,
        topics.ASAP_TASKS,
        topics.ASAP_SNAPSHOTS,
        topics.ASAP_INBOX,
        topics.ASAP_LINKS,
        topics.RTES_RAW,
        topics.LINEAGE_EDGES,
        topics.ASAP_ENVELOPES_DLQ,
        topics.ASAP_LINKS_DLQ,
        topics.ASAP_MANIFESTS_DLQ,
    ),
    tables=(
        tables.ASAP_TASKS,
        tables.ASAP_SNAPSHOTS,
        tables.ASAP_RESPONSES,
        tables.ASAP_SEEN,
        tables.ASAP_ADMISSIONS,
        tables.ASAP_HELD,
        tables.ASAP_CLAIMS,
        tables.ASAP_REDIRECTS,
        tables.ASAP_CALLS,
        tables.ASAP_PATCHES,
        tables.ASAP_VERSIONS,
        tables.ASAP_SNAPSHOT_IDS,
        tables.ASAP_AGENTS,
    ),
    copies=(tables.ASAP_MANIFESTS,),
)
SUMMIT = ProcessorDeclaration(
    "summit",
    "judges manifests, calls and replies, keeps each run and the evidence of its output, delivers,"
    " and ends what takes too long",
    inputs=(topics.SUMMIT_MANIFESTS, topics.SUMMIT_CALLS, topics.SUMMIT_REPLIES),
    outputs=(
        topics.SUMMIT_EVENTS,
        topics.SUMMIT_RUNS,
        topics.SUMMIT_AGENTS,
        topics.SUMMIT_INBOX,
        topics.RTES_RAW,
        topics.LINEAGE_EDGES,
        topics.SUMMIT_MANIFESTS_DLQ,
        topics.SUMMIT_CALLS_DLQ,
        topics.SUMMIT_REPLIES_DLQ,
    ),
    tables=(tables.SUMMIT_RUNS, tables.SUMMIT_AGENTS, tables.SUMMIT_REPLIES),
    copies=(tables.SUMMIT_AGENTS,),
)

ALL: tuple[ProcessorDeclaration, ...] = (
    APC,
    APC_LINEAGE,
    SAOP,
    RTES,
    SAP,
    SAP_CACHE,
    SAP_LEARNING,
    ASAP,
    SUMMIT,
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
