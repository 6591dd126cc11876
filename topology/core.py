"""Topics and tables that belong to no protocol: what all of them write, and what operators and
the engine keep."""

from __future__ import annotations

from topology.declarations import Header, Table, Topic, TopicKind
from topology.keys import member
from topology.retention import INPUT_BYTES, LONG_BYTES, RTES_RAW_RETENTION_MS

CAUSE = Header(
    "headrace-cause",
    "what led to the record: the position of another, or the name of a timer",
    schema={"examples": ["apc.packets/0/17"]},
)

OPTIONAL_CAUSE = Header(CAUSE.name, "what led to the record, if anything did", optional=True)
DROPPED_KEYS = Header(
    "headrace-dropped-keys",
    "how many unknown members the edge left out",
    optional=True,
    schema={"pattern": "^[0-9]+$"},
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
    meaning="what came of what, as edges of a graph",
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
    meaning="dead letters that were sent back, each at most once, and on whose order",
    max_bytes=INPUT_BYTES,
)
AUDIT_CHECKPOINTS = Topic(
    "audit.checkpoints",
    TopicKind.AUDIT,
    "headrace.core.AuditCheckpoint",
    key="topic/partition",
    meaning="signed statements of what each partition of facts held up to an offset, in chains",
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
    meaning="the offset of the next record that the task will decide, of each of its inputs",
)
KNOWN_INPUTS = Table(
    "known-inputs",
    "headrace.core.KnownInputs",
    key="inputs",
    meaning="one row: the input topics that the task's state has ever read, by topic id",
)
ACCEPTED_GAPS = Table(
    "accepted-gaps",
    "headrace.core.AcceptedGap",
    key="topic id, offset at which the task went on",
    meaning="offsets of inputs that an operator gave up, so that a task could go on",
)
TOPICS: tuple[Topic, ...] = (LINEAGE_EDGES, CHANGELOG, AUDIT_REDRIVES, AUDIT_CHECKPOINTS)
"""Those that no protocol lists; `rtes.raw` is in the list of SAOP, which decides its records."""
ENGINE_TABLES: tuple[Table, ...] = (TIMERS, INPUT_POSITIONS, KNOWN_INPUTS, ACCEPTED_GAPS)
"""Kept by the engine for all processors."""
