"""The topics of ASAP; `topology.topics` lists them with the rest."""

from __future__ import annotations

from topology.declarations import Kind, Topic
from topology.keeping import (
    DAY_MS,
    FACT_BYTES,
    INBOX_RETENTION_MS,
    INPUT_BYTES,
    TABLE_BYTES,
    dead_letters,
)

ASAP_ENVELOPES = Topic(
    "asap.envelopes",
    Kind.COMMAND,
    "dev.headrace.asap.AsapEnvelope",
    key="task key: the id of the task's request, or of the call",
    meaning="envelopes as agents send them",
    max_bytes=INPUT_BYTES,
)
ASAP_MANIFESTS = Topic(
    "asap.manifests",
    Kind.COMMAND,
    "dev.headrace.asap.AsapManifest",
    key="agent URN",
    meaning="agents as operators present them; a null value withdraws one",
    max_bytes=INPUT_BYTES,
    config=(("min.compaction.lag.ms", str(7 * DAY_MS)),),
    keeps_latest=True,
)
ASAP_LINKS = Topic(
    "asap.links",
    Kind.INTERNAL,
    "dev.headrace.asap.AsapLink",
    key="destination: a task key, or `claim:` and the hash of an idempotency key",
    meaning="what one task asks of another or of an idempotency key, and the answers",
    max_bytes=FACT_BYTES,
    asked_again=True,
)
ASAP_EVENTS = Topic(
    "asap.events",
    Kind.FACT,
    "dev.headrace.asap.AsapEvent",
    key="the record's key, else the task key",
    meaning="the verdict on each envelope and manifest, and timers that fired",
    max_bytes=FACT_BYTES,
)
ASAP_INBOX = Topic(
    "asap.inbox",
    Kind.INBOX,
    "dev.headrace.asap.AsapEnvelope",
    key="recipient URN",
    meaning="accepted envelopes and answers of the service, for the recipient to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
ASAP_TASKS = Topic(
    "asap.tasks",
    Kind.TABLE,
    "dev.headrace.asap.AsapTask",
    key="task_id",
    meaning="where each task stands",
    max_bytes=TABLE_BYTES,
)
ASAP_SNAPSHOTS = Topic(
    "asap.snapshots",
    Kind.TABLE,
    "dev.headrace.asap.AsapSnapshot",
    key="task_id/version",
    meaning="the saved states of each task",
    max_bytes=TABLE_BYTES,
)

ASAP_ENVELOPES_DLQ = dead_letters(ASAP_ENVELOPES, "envelopes that could not be judged, as sent")
ASAP_MANIFESTS_DLQ = dead_letters(ASAP_MANIFESTS, "manifests that could not be judged, as sent")
ASAP_LINKS_DLQ = dead_letters(ASAP_LINKS, "questions and answers that could not be read")

ASAP = (
    ASAP_ENVELOPES,
    ASAP_MANIFESTS,
    ASAP_LINKS,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_TASKS,
    ASAP_SNAPSHOTS,
)
ASAP_DEAD_LETTERS = (ASAP_ENVELOPES_DLQ, ASAP_MANIFESTS_DLQ, ASAP_LINKS_DLQ)
