"""The topics of operators' tools; `topology.topics` lists them with the rest."""

from __future__ import annotations

from topology.declarations import Kind, Topic
from topology.keeping import INPUT_BYTES

AUDIT_REDRIVES = Topic(
    "audit.redrives",
    Kind.AUDIT,
    "headrace.core.AuditRedrive",
    key="position of the dead letter",
    meaning="dead letters that were sent back, each at most once, and on whose order",
    max_bytes=INPUT_BYTES,
)

AUDIT_CHECKPOINTS = Topic(
    "audit.checkpoints",
    Kind.AUDIT,
    "headrace.core.AuditCheckpoint",
    key="topic/partition",
    meaning="signed statements of what each partition of facts held up to an offset, in chains",
)

AUDIT: tuple[Topic, ...] = (AUDIT_REDRIVES, AUDIT_CHECKPOINTS)
