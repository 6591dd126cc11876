"""Every topic, declared once.

Three numbers rule how a topic is kept.  Inputs hold what clients send and are small; a fact or a
row may hold an envelope with all that was decided about it, so it may be several times larger; a
dead letter holds an input's bytes and the headers that say what was wrong with them.
"""

from __future__ import annotations

from topology.declarations import Kind, Topic

KIB = 1 << 10
MIB = 1 << 20
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

INPUT_BYTES = 1 * MIB
FACT_BYTES = 4 * MIB
TABLE_BYTES = 4 * MIB
DEAD_LETTER_EXTRA_BYTES = 64 * KIB
RTES_BYTES = 8 * MIB
"""The largest event on `rtes.raw`; what is decided about it may be twice as large."""

INBOX_RETENTION_MS = 30 * DAY_MS
DEAD_LETTER_RETENTION_MS = 90 * DAY_MS
RTES_RAW_RETENTION_MS = 24 * HOUR_MS
DELETE_RETENTION_MS = DAY_MS
"""How long tombstones of compacted topics are kept.

A copy that was last at the end longer ago may have missed a deletion: it is rebuilt.
"""

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
    max_bytes=RTES_BYTES,
)
RTES_EVENTS = Topic(
    "rtes.events",
    Kind.FACT,
    "headrace.rtes.RtesRecord",
    key="session_id",
    meaning="accepted events, numbered per session: the stream that user interfaces follow",
    max_bytes=2 * RTES_BYTES,
)
RTES_REJECTIONS = Topic(
    "rtes.rejections",
    Kind.FACT,
    "headrace.rtes.RtesRejection",
    key="session_id",
    meaning="duplicate and rejected events, with the rule that decided",
    max_bytes=2 * RTES_BYTES,
)
SAOP_TASKS = Topic(
    "saop.tasks",
    Kind.TABLE,
    "headrace.saop.SaopTask",
    key="session_id/[origin:]task_id",
    meaning="the state of each task, as its transitions on rtes.events say",
    max_bytes=TABLE_BYTES,
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
    max_bytes=TABLE_BYTES,
)


def _dead_letters(source: Topic, meaning: str) -> Topic:
    return Topic(
        f"{source.name}.dlq",
        Kind.DEAD_LETTER,
        None,
        key="the original record's key",
        meaning=meaning,
        retention_ms=DEAD_LETTER_RETENTION_MS,
        max_bytes=source.max_bytes + DEAD_LETTER_EXTRA_BYTES,
    )


APC_PACKETS_DLQ = _dead_letters(APC_PACKETS, "packet records that could not be judged, as sent")
APC_TRANSFERS_DLQ = _dead_letters(APC_TRANSFERS, "records of sums that could not be read")
RTES_RAW_DLQ = _dead_letters(RTES_RAW, "event records that could not be judged, as masked text")

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
    LINEAGE_EDGES,
    CHANGELOG,
    APC_PACKETS_DLQ,
    APC_TRANSFERS_DLQ,
    RTES_RAW_DLQ,
)
BY_NAME = {topic.name: topic for topic in ALL}


def dead_letters_of(topic: Topic) -> Topic:
    """Where records of this input go when they cannot be judged; KeyError if it is no input."""
    if not topic.is_input:
        raise KeyError(topic.name)
    declared = BY_NAME.get(f"{topic.name}.dlq")
    return declared or _dead_letters(topic, "records that could not be judged, as sent")


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
