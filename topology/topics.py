"""Every topic, declared once.  Those of SAP, ASAP and Summit have files of their own."""

from __future__ import annotations

from topology.asap_topics import ASAP, ASAP_DEAD_LETTERS
from topology.asap_topics import ASAP_ENVELOPES as ASAP_ENVELOPES
from topology.asap_topics import ASAP_ENVELOPES_DLQ as ASAP_ENVELOPES_DLQ
from topology.asap_topics import ASAP_EVENTS as ASAP_EVENTS
from topology.asap_topics import ASAP_INBOX as ASAP_INBOX
from topology.asap_topics import ASAP_LINKS as ASAP_LINKS
from topology.asap_topics import ASAP_LINKS_DLQ as ASAP_LINKS_DLQ
from topology.asap_topics import ASAP_MANIFESTS as ASAP_MANIFESTS
from topology.asap_topics import ASAP_MANIFESTS_DLQ as ASAP_MANIFESTS_DLQ
from topology.asap_topics import ASAP_SNAPSHOTS as ASAP_SNAPSHOTS
from topology.asap_topics import ASAP_TASKS as ASAP_TASKS
from topology.audit_topics import AUDIT
from topology.audit_topics import AUDIT_CHECKPOINTS as AUDIT_CHECKPOINTS
from topology.audit_topics import AUDIT_REDRIVES as AUDIT_REDRIVES
from topology.declarations import Kind, Topic
from topology.keeping import DAY_MS as DAY_MS
from topology.keeping import DEAD_LETTER_EXTRA_BYTES as DEAD_LETTER_EXTRA_BYTES
from topology.keeping import DEAD_LETTER_RETENTION_MS as DEAD_LETTER_RETENTION_MS
from topology.keeping import DELETE_RETENTION_MS as DELETE_RETENTION_MS
from topology.keeping import (
    FACT_BYTES,
    INBOX_RETENTION_MS,
    INPUT_BYTES,
    LONG_BYTES,
    RTES_RAW_RETENTION_MS,
    TABLE_BYTES,
    dead_letters,
)
from topology.keeping import HOUR_MS as HOUR_MS
from topology.keeping import KIB as KIB
from topology.keeping import MIB as MIB
from topology.sap_topics import SAP, SAP_DEAD_LETTERS
from topology.sap_topics import SAP_ACKS as SAP_ACKS
from topology.sap_topics import SAP_CACHE as SAP_CACHE
from topology.sap_topics import SAP_HEURISTICS as SAP_HEURISTICS
from topology.sap_topics import SAP_INBOX as SAP_INBOX
from topology.sap_topics import SAP_KNOWLEDGE as SAP_KNOWLEDGE
from topology.sap_topics import SAP_LEARNING as SAP_LEARNING
from topology.sap_topics import SAP_LEARNING_SIGNALS as SAP_LEARNING_SIGNALS
from topology.sap_topics import SAP_LEARNING_SIGNALS_DLQ as SAP_LEARNING_SIGNALS_DLQ
from topology.sap_topics import SAP_LOOKUPS as SAP_LOOKUPS
from topology.sap_topics import SAP_LOOKUPS_DLQ as SAP_LOOKUPS_DLQ
from topology.sap_topics import SAP_OUTCOMES as SAP_OUTCOMES
from topology.sap_topics import SAP_RESULTS as SAP_RESULTS
from topology.sap_topics import SAP_RESULTS_DLQ as SAP_RESULTS_DLQ
from topology.sap_topics import SAP_SIGNALS as SAP_SIGNALS
from topology.sap_topics import SAP_SIGNALS_DLQ as SAP_SIGNALS_DLQ
from topology.sap_topics import SAP_TASK_STATES as SAP_TASK_STATES
from topology.sap_topics import SAP_TASKS as SAP_TASKS
from topology.sap_topics import SAP_TASKS_DLQ as SAP_TASKS_DLQ
from topology.sap_topics import SAP_VERDICTS as SAP_VERDICTS
from topology.sap_topics import SAP_VERDICTS_DLQ as SAP_VERDICTS_DLQ
from topology.summit_topics import SUMMIT, SUMMIT_DEAD_LETTERS
from topology.summit_topics import SUMMIT_AGENTS as SUMMIT_AGENTS
from topology.summit_topics import SUMMIT_CALLS as SUMMIT_CALLS
from topology.summit_topics import SUMMIT_CALLS_DLQ as SUMMIT_CALLS_DLQ
from topology.summit_topics import SUMMIT_EVENTS as SUMMIT_EVENTS
from topology.summit_topics import SUMMIT_INBOX as SUMMIT_INBOX
from topology.summit_topics import SUMMIT_MANIFESTS as SUMMIT_MANIFESTS
from topology.summit_topics import SUMMIT_MANIFESTS_DLQ as SUMMIT_MANIFESTS_DLQ
from topology.summit_topics import SUMMIT_REPLIES as SUMMIT_REPLIES
from topology.summit_topics import SUMMIT_REPLIES_DLQ as SUMMIT_REPLIES_DLQ
from topology.summit_topics import SUMMIT_RUNS as SUMMIT_RUNS

APC_PACKETS = Topic(
    "apc.packets",
    Kind.COMMAND,
    "headrace.apc.ApcPacket",
    key="trace.session_id",
    meaning="packets as agents send them",
    max_bytes=INPUT_BYTES,
)
APC_EVENTS = Topic(
    "apc.events",
    Kind.FACT,
    "headrace.apc.ApcEvent",
    key="session_id",
    meaning="the verdict on each packet record, its effects on other packets, timers that fired",
    max_bytes=FACT_BYTES,
)
APC_INBOX = Topic(
    "apc.inbox",
    Kind.INBOX,
    "headrace.apc.ApcDelivery",
    key="recipient agent_id",
    meaning="deliveries, redeliveries and retraction notices, for the recipient to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
APC_PACKET_STATES = Topic(
    "apc.packet-states",
    Kind.TABLE,
    "headrace.apc.ApcPacketState",
    key="session_id/packet_id",
    meaning="the state of each packet, with its history and acknowledgements",
    max_bytes=TABLE_BYTES,
)
APC_COORDINATION = Topic(
    "apc.coordination",
    Kind.TABLE,
    "headrace.apc.ApcCoordination",
    key="session_id[/agent_id]",
    meaning="the coordination state of each session, and of each agent in it",
    max_bytes=TABLE_BYTES,
)
APC_THROTTLING = Topic(
    "apc.throttling",
    Kind.TABLE,
    "headrace.apc.ApcThrottle",
    key="session_id/run_id/generation/protocol_id/from_swarm",
    meaning="who received a protocol from a swarm in a generation, and how many transfers passed",
    max_bytes=TABLE_BYTES,
)
APC_TRANSFERS = Topic(
    "apc.transfers",
    Kind.INTERNAL,
    "headrace.apc.ApcTransferDelta",
    key="protocol_id",
    meaning="what each packet adds to the sums of a protocol or takes back, and arbitrations",
    max_bytes=FACT_BYTES,
)
APC_DECISIONS = Topic(
    "apc.decisions",
    Kind.FACT,
    "headrace.apc.ApcDecision",
    key="protocol_id",
    meaning="arbitrations of transfers, and protocols that decayed or recovered",
    max_bytes=FACT_BYTES,
)
APC_LINEAGE = Topic(
    "apc.lineage",
    Kind.TABLE,
    "headrace.apc.ApcLineage",
    key="protocol_id[/run_id]",
    meaning="the sums and the effectiveness of each protocol, in total and in each run",
    max_bytes=TABLE_BYTES,
)
RTES_RAW = Topic(
    "rtes.raw",
    Kind.COLLECTOR,
    "headrace.rtes.RtesEvent",
    key="session_id",
    meaning="observation events as agents and processors send them",
    retention_ms=RTES_RAW_RETENTION_MS,
    max_bytes=LONG_BYTES,
    secret=True,
)
RTES_EVENTS = Topic(
    "rtes.events",
    Kind.FACT,
    "headrace.rtes.RtesRecord",
    key="session_id",
    meaning="accepted events, numbered per session: the stream that user interfaces follow",
    max_bytes=2 * LONG_BYTES,
)
RTES_REJECTIONS = Topic(
    "rtes.rejections",
    Kind.FACT,
    "headrace.rtes.RtesRejection",
    key="session_id",
    meaning="duplicate and rejected events, with the rule that decided",
    max_bytes=2 * LONG_BYTES,
)
SAOP_TASKS = Topic(
    "saop.tasks",
    Kind.TABLE,
    "headrace.saop.SaopTask",
    key="session_id/[origin:]task_id",
    meaning="the state of each task, as its transitions on rtes.events say",
    max_bytes=TABLE_BYTES,
)
SAOP_TURNS = Topic(
    "saop.turns",
    Kind.COMMAND,
    "headrace.saop.SaopTurn",
    key="metadata.task_id",
    meaning="turn envelopes as agents send them",
    max_bytes=LONG_BYTES,
)
SAOP_VERDICTS = Topic(
    "saop.verdicts",
    Kind.FACT,
    "headrace.saop.SaopVerdict",
    key="task_id",
    meaning="the verdict on each turn record",
    max_bytes=2 * LONG_BYTES,
)
SAOP_LOG = Topic(
    "saop.log",
    Kind.FACT,
    "headrace.saop.SaopTurnLogged",
    key="task_id",
    meaning="accepted turns, in ascending order per task",
    max_bytes=2 * LONG_BYTES,
)
SAOP_ESCALATIONS = Topic(
    "saop.escalations",
    Kind.FACT,
    "headrace.saop.SaopEscalation",
    key="task_id",
    meaning="agents and tasks that need attention, with the figures that say so",
    max_bytes=2 * LONG_BYTES,
)
SAOP_REWINDS = Topic(
    "saop.rewinds",
    Kind.COMMAND,
    "headrace.saop.SaopRewind",
    key="session_id",
    meaning="operators' orders to turn a session back to a commit",
    max_bytes=LONG_BYTES,
)
SAOP_REWIND_LOG = Topic(
    "saop.rewind-log",
    Kind.FACT,
    "headrace.saop.SaopRewindLogged",
    key="session_id",
    meaning="the verdict on each rewind command, and prepared rewinds that lapsed",
    max_bytes=2 * LONG_BYTES,
)
SAOP_TASK_SIGNALS = Topic(
    "saop.task-signals",
    Kind.INTERNAL,
    "headrace.saop.SaopTaskSignal",
    key="task_id",
    meaning="tasks that failed too often or were turned back, for the detectors",
    max_bytes=2 * LONG_BYTES,
)
LINEAGE_EDGES = Topic(
    "lineage.edges",
    Kind.COLLECTOR,
    "headrace.core.LineageEdge",
    key="edge_id",
    meaning="what came of what, as edges of a graph",
    max_bytes=INPUT_BYTES,
    own_partition=True,
)
CHANGELOG = Topic(
    "headrace.changelog",
    Kind.CHANGELOG,
    None,
    key="table, NUL, row key",
    meaning="rows of the tables that are not public, and the input positions of each task",
    max_bytes=2 * LONG_BYTES,
)

APC_PACKETS_DLQ = dead_letters(APC_PACKETS, "packet records that could not be judged, as sent")
APC_TRANSFERS_DLQ = dead_letters(APC_TRANSFERS, "records of sums that could not be read")
RTES_RAW_DLQ = dead_letters(RTES_RAW, "event records that could not be judged, as masked text")
SAOP_TURNS_DLQ = dead_letters(SAOP_TURNS, "turn records that could not be judged, as sent")
SAOP_REWINDS_DLQ = dead_letters(SAOP_REWINDS, "rewind commands that could not be judged, as sent")
SAOP_TASK_SIGNALS_DLQ = dead_letters(SAOP_TASK_SIGNALS, "signals that could not be read")

ALL: tuple[Topic, ...] = (
    APC_PACKETS,
    APC_EVENTS,
    APC_INBOX,
    APC_PACKET_STATES,
    APC_COORDINATION,
    APC_THROTTLING,
    APC_TRANSFERS,
    APC_DECISIONS,
    APC_LINEAGE,
    RTES_RAW,
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_TASKS,
    SAOP_TURNS,
    SAOP_VERDICTS,
    SAOP_LOG,
    SAOP_ESCALATIONS,
    SAOP_REWINDS,
    SAOP_REWIND_LOG,
    SAOP_TASK_SIGNALS,
    *SAP,
    *ASAP,
    *SUMMIT,
    LINEAGE_EDGES,
    CHANGELOG,
    *AUDIT,
    APC_PACKETS_DLQ,
    APC_TRANSFERS_DLQ,
    RTES_RAW_DLQ,
    SAOP_TURNS_DLQ,
    SAOP_REWINDS_DLQ,
    SAOP_TASK_SIGNALS_DLQ,
    *SAP_DEAD_LETTERS,
    *ASAP_DEAD_LETTERS,
    *SUMMIT_DEAD_LETTERS,
)
BY_NAME = {topic.name: topic for topic in ALL}


def dead_letters_of(topic: Topic) -> Topic:
    """Where records of this input go when they cannot be judged; KeyError if it is no input."""
    if not topic.is_input:
        raise KeyError(topic.name)
    declared = BY_NAME.get(f"{topic.name}.dlq")
    return declared or dead_letters(topic, "records that could not be judged, as sent")


def full_name(topic: Topic, prefix: str = "") -> str:
    """The name on the log, e.g. `acme.apc.packets` for the prefix `acme.`."""
    return prefix + topic.name


def partitions_of(topic: Topic, partitions: int) -> int:
    """P for all topics but dead letters, which are few and have one partition."""
    return 1 if topic.kind is Kind.DEAD_LETTER else partitions


def config_of(topic: Topic) -> dict[str, str]:
    """The broker's settings of the topic, spelled out so that no broker default decides.

    Inputs carry the broker's time: a sender's clock must neither age a record out of its
    retention nor move deadlines.
    """
    config = {
        "cleanup.policy": "compact" if topic.compacted else "delete",
        "retention.ms": str(-1 if topic.retention_ms is None else topic.retention_ms),
        "retention.bytes": "-1",
        "max.message.bytes": str(topic.max_bytes),
        "message.timestamp.type": "LogAppendTime" if topic.is_input else "CreateTime",
    }
    if topic.compacted:
        config["delete.retention.ms"] = str(DELETE_RETENTION_MS)
    return config | dict(topic.config)
