"""Topics and tables that belong to no protocol: what all of them write, and what operators and
the engine keep."""

from __future__ import annotations

from topology.declarations import Header, Table, Topic, TopicKind
from topology.keys import member
from topology.retention import INPUT_BYTES, LONG_BYTES, RTES_RAW_RETENTION_MS

CAUSE = Header(
    "headrace-cause",
    "the cause of the record: the position of another record, or the name of a timer",
    schema={"examples": ["apc.packets/0/17"]},
)

BEGAN = Header(
    "headrace-began",
    "of a fact that ends a task or a run: the time at which that began, in UTC",
    optional=True,
    schema={"format": "date-time"},
)
OPTIONAL_CAUSE = Header(CAUSE.name, "the cause of the record, if it has one", optional=True)
DROPPED_KEYS = Header(
    "headrace-dropped-keys",
    "the number of unknown members that the gateway dropped",
    optional=True,
    schema={"pattern": "^[0-9]+$"},
)
FILLED = Header(
    "headrace-filled",
    "the members that an edge filled in and whose values it derived, by comma",
    optional=True,
    schema={"examples": ["trace_id"]},
)
RTES_RAW = Topic(
    "rtes.raw",
    TopicKind.COLLECTOR,
    "headrace.rtes.RtesEvent",
    key="session_id",
    key_of=member("session_id"),
    meaning="observation events as agents and processors send them",
    retention_ms=RTES_RAW_RETENTION_MS,
    max_bytes=LONG_BYTES,
    secret=True,
    headers=(DROPPED_KEYS, OPTIONAL_CAUSE),
)
LINEAGE_EDGES = Topic(
    "lineage.edges",
    TopicKind.COLLECTOR,
    "headrace.core.LineageEdge",
    key="edge_id",
    key_of=member("edge_id"),
    meaning="the edges of the lineage graph",
    max_bytes=INPUT_BYTES,
    own_partition=True,
)
CHANGELOG = Topic(
    "headrace.changelog",
    TopicKind.CHANGELOG,
    None,
    key="table, NUL, row key",
    meaning="rows of the tables that are not public, and the input positions of each task",
    max_bytes=2 * LONG_BYTES,
    headers=(OPTIONAL_CAUSE,),
)
AUDIT_REDRIVES = Topic(
    "audit.redrives",
    TopicKind.AUDIT,
    "headrace.core.AuditRedrive",
    key="position of the dead letter",
    meaning="dead letters that were redriven, each at most once, and who ordered it",
    max_bytes=INPUT_BYTES,
)
AUDIT_REPAIRS = Topic(
    "audit.repairs",
    TopicKind.AUDIT,
    "headrace.core.AuditRepair",
    key="position of the refused record",
    meaning="rows that operators have written in the place of refused ones",
)
AUDIT_CHECKPOINTS = Topic(
    "audit.checkpoints",
    TopicKind.AUDIT,
    "headrace.core.AuditCheckpoint",
    key="topic/partition",
    meaning="signed checkpoints of each fact partition up to an offset, each linked to the last",
)
AUDIT_ENTRIES = Topic(
    "audit.entries",
    TopicKind.AUDIT,
    "headrace.core.AuditEntries",
    key="origin",
    meaning="the entries of the transparency log, in batches that its key has signed",
    config=(("compression.type", "zstd"),),
)
AUDIT_TREE_HEADS = Topic(
    "audit.tree-heads",
    TopicKind.AUDIT,
    "headrace.core.AuditTreeHead",
    key="origin",
    meaning="the published checkpoints of the transparency log",
)
PUSH_SUBSCRIPTIONS = Topic(
    "push.subscriptions",
    TopicKind.DOOR,
    "headrace.push.PushSubscription",
    key="subscription id",
    key_of=member("id"),
    meaning="addresses that doors post events to; secrets are sealed",
)
PUSH_DELIVERIES = Topic(
    "push.deliveries",
    TopicKind.DOOR,
    "headrace.push.PushDelivery",
    key="subscription id",
    key_of=member("id"),
    meaning="how far the deliveries of each subscription are",
)

TIMERS = Table(
    "timers",
    "headrace.core.TimerRow",
    key="due time, kind, key of what it is for",
    meaning="timers not yet fired, of all processors",
)
INPUT_POSITIONS = Table(
    "input-positions",
    "headrace.core.InputPosition",
    key="input topic",
    meaning="the offset of the next record to process, of each input of the task",
)
KNOWN_INPUTS = Table(
    "known-inputs",
    "headrace.core.KnownInputs",
    key="inputs",
    meaning="one row: the topic ids of all inputs that the task's state is derived from",
)
ACCEPTED_GAPS = Table(
    "accepted-gaps",
    "headrace.core.AcceptedGap",
    key="topic id, offset at which the task went on; or the position of one record",
    meaning="input offsets that an operator chose to skip so that a task could continue",
)
PUSH: tuple[Topic, ...] = (PUSH_SUBSCRIPTIONS, PUSH_DELIVERIES)
"""Those of webhooks and push notifications: without them subscriptions are lost, but no events."""
TASK_OPENINGS = Table(
    "task-openings",
    "headrace.core.TaskOpening",
    key="opening",
    meaning="one row, with a key for MACs: how often the task was opened",
)
TOPICS: tuple[Topic, ...] = (
    LINEAGE_EDGES,
    CHANGELOG,
    AUDIT_REDRIVES,
    AUDIT_CHECKPOINTS,
    AUDIT_REPAIRS,
    *PUSH,
)
"""Those that no protocol lists; `rtes.raw` is in the list of SAOP, which decides its records."""
TRANSPARENCY: tuple[Topic, ...] = (AUDIT_ENTRIES, AUDIT_TREE_HEADS)
"""Those of a transparency log: they exist only where one is kept, and have one partition each."""
ENGINE_TABLES: tuple[Table, ...] = (
    TIMERS,
    INPUT_POSITIONS,
    KNOWN_INPUTS,
    ACCEPTED_GAPS,
    TASK_OPENINGS,
)
"""Kept by the engine for all processors."""
