"""The topics, tables, processors and lineage nodes of ASAP 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.asap import MalformedEnvelopeError, task_key
from topology.core import BEGAN, FILLED, LINEAGE_EDGES, RTES_RAW
from topology.declarations import (
    Header,
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
    public_table,
)
from topology.keys import composite, integer_of, member, text_of
from topology.retention import (
    DAY_MS,
    FACT_BYTES,
    INBOX_RETENTION_MS,
    INPUT_BYTES,
    TABLE_BYTES,
    dead_letters,
)


def _asap_envelope(value: Mapping[str, Any]) -> str:
    """Return the task key, or the envelope's id without one (ASAP guide, 5.1)."""
    try:
        return task_key(dict(value))
    except MalformedEnvelopeError:
        return text_of(value, "id")


def _asap_snapshot(value: Mapping[str, Any]) -> str:
    return composite(text_of(value, "task_id"), str(integer_of(value, "version")))


def _asap_task(value: Mapping[str, Any]) -> str:
    return composite(text_of(value, "task_id"))


ANSWERS = Header(
    "headrace-answers",
    "the id of the duplicate request for which a response is delivered again",
    optional=True,
)
ASAP_ENVELOPES = Topic(
    "asap.envelopes",
    TopicKind.COMMAND,
    "dev.headrace.asap.AsapEnvelope",
    key="task key: the id of the task's request, or of the call",
    key_of=_asap_envelope,
    meaning="envelopes as agents send them",
    max_bytes=INPUT_BYTES,
    headers=(FILLED,),
)
ASAP_MANIFESTS = Topic(
    "asap.manifests",
    TopicKind.COMMAND,
    "dev.headrace.asap.AsapManifest",
    key="agent URN",
    key_of=member("id"),
    meaning="agent manifests that operators register; a null value withdraws one",
    max_bytes=INPUT_BYTES,
    config=(("min.compaction.lag.ms", str(7 * DAY_MS)),),
    keeps_latest=True,
    operators_only=True,
)
ASAP_LINKS = Topic(
    "asap.links",
    TopicKind.INTERNAL,
    "dev.headrace.asap.AsapLink",
    key="destination: a task key, or `claim:` and the hash of an idempotency key",
    meaning="requests of one task to another or to an idempotency key, and the responses",
    max_bytes=FACT_BYTES,
    retried=True,
)
ASAP_EVENTS = Topic(
    "asap.events",
    TopicKind.FACT,
    "dev.headrace.asap.AsapEvent",
    key="the record's key, else the task key",
    meaning="the verdict on each envelope and manifest, and timers that fired",
    max_bytes=FACT_BYTES,
    headers=(BEGAN,),
)
ASAP_INBOX = Topic(
    "asap.inbox",
    TopicKind.INBOX,
    "dev.headrace.asap.AsapEnvelope",
    key="recipient URN",
    key_of=member("recipient"),
    meaning="accepted envelopes and answers of the service, for the recipient to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
    headers=(ANSWERS,),
)
ASAP_TASKS = Topic(
    "asap.tasks",
    TopicKind.TABLE,
    "dev.headrace.asap.AsapTask",
    key="task_id",
    key_of=_asap_task,
    meaning="the current state of each task",
    max_bytes=TABLE_BYTES,
)
ASAP_SNAPSHOTS = Topic(
    "asap.snapshots",
    TopicKind.TABLE,
    "dev.headrace.asap.AsapSnapshot",
    key="task_id/version",
    key_of=_asap_snapshot,
    meaning="the saved states of each task",
    max_bytes=TABLE_BYTES,
)

ASAP_ENVELOPES_DLQ = dead_letters(ASAP_ENVELOPES, "envelopes that could not be judged, as sent")
ASAP_MANIFESTS_DLQ = dead_letters(ASAP_MANIFESTS, "manifests that could not be judged, as sent")
ASAP_LINKS_DLQ = dead_letters(ASAP_LINKS, "links that could not be read")

ASAP_MANIFESTS_TABLE = public_table(ASAP_MANIFESTS, caught_up=True)
ASAP_TASKS_TABLE = public_table(ASAP_TASKS)
ASAP_SNAPSHOTS_TABLE = public_table(ASAP_SNAPSHOTS)
ASAP_RESPONSES = Table(
    "asap-responses",
    "dev.headrace.asap.AsapEnvelope",
    key="task_id",
    meaning="the response that ended each task, written once; repeated requests get it again",
)
ASAP_SEEN = Table(
    "asap-seen",
    "dev.headrace.asap.AsapSeen",
    key="task key/sender/envelope id",
    meaning="the accepted envelopes of each task and call",
)
ASAP_ADMISSIONS = Table(
    "asap-admissions",
    "dev.headrace.asap.AsapAdmission",
    key="task key",
    meaning="requests that wait for a response from another key, and the number of records behind",
)
ASAP_HELD = Table(
    "asap-held",
    "dev.headrace.asap.AsapHeld",
    key="task key/number",
    meaning="those requests, and the records queued behind them in order",
)
ASAP_CLAIMS = Table(
    "asap-claims",
    "dev.headrace.asap.AsapClaim",
    key="`claim:` and SHA-256 of [sender, skill_id, idempotency_key]",
    meaning="the task of each idempotency key",
)
ASAP_REDIRECTS = Table(
    "asap-redirects",
    "dev.headrace.asap.AsapRedirect",
    key="task key",
    meaning="duplicate requests and the older task that answers each",
)
ASAP_CALLS = Table(
    "asap-calls",
    "dev.headrace.asap.AsapCall",
    key="call key: request_id, or the id of the fetch",
    meaning="the current state of each MCP call",
)
ASAP_PATCHES = Table(
    "asap-patches",
    "dev.headrace.asap.AsapPatch",
    key="task_id/sequence",
    meaning="what each event of an event-sourced task changed in its state",
)
ASAP_VERSIONS = Table(
    "asap-versions",
    "dev.headrace.asap.AsapVersions",
    key="task_id",
    meaning="which snapshot versions of each task exist",
)
ASAP_SNAPSHOT_IDS = Table(
    "asap-snapshot-ids",
    "dev.headrace.asap.AsapSnapshotId",
    key="task_id/snapshot id",
    meaning="the version of each snapshot id",
)
ASAP_AGENTS = Table(
    "asap-agents",
    "dev.headrace.asap.AsapAgent",
    key="agent URN",
    meaning="the hash of each agent's manifest in force",
)

ASAP_PROCESSOR = ProcessorDeclaration(
    "asap",
    "decides envelopes and manifests, admits each task once, stores its states and snapshots,"
    " delivers, answers, and ends what takes too long",
    inputs=(ASAP_ENVELOPES, ASAP_LINKS, ASAP_MANIFESTS),
    outputs=(
        ASAP_EVENTS,
        ASAP_TASKS,
        ASAP_SNAPSHOTS,
        ASAP_INBOX,
        ASAP_LINKS,
        RTES_RAW,
        LINEAGE_EDGES,
        ASAP_ENVELOPES_DLQ,
        ASAP_LINKS_DLQ,
        ASAP_MANIFESTS_DLQ,
    ),
    tables=(
        ASAP_TASKS_TABLE,
        ASAP_SNAPSHOTS_TABLE,
        ASAP_RESPONSES,
        ASAP_SEEN,
        ASAP_ADMISSIONS,
        ASAP_HELD,
        ASAP_CLAIMS,
        ASAP_REDIRECTS,
        ASAP_CALLS,
        ASAP_PATCHES,
        ASAP_VERSIONS,
        ASAP_SNAPSHOT_IDS,
        ASAP_AGENTS,
    ),
    global_tables=(ASAP_MANIFESTS_TABLE,),
)

DECLARED = ProtocolTopology(
    "asap",
    topics=(
        ASAP_ENVELOPES,
        ASAP_MANIFESTS,
        ASAP_LINKS,
        ASAP_EVENTS,
        ASAP_INBOX,
        ASAP_TASKS,
        ASAP_SNAPSHOTS,
        ASAP_ENVELOPES_DLQ,
        ASAP_MANIFESTS_DLQ,
        ASAP_LINKS_DLQ,
    ),
    processors=(ASAP_PROCESSOR,),
    verdicts={ASAP_ENVELOPES: (ASAP_EVENTS,), ASAP_MANIFESTS: (ASAP_EVENTS,)},
    node_kinds=(
        NodeKind("asap:task:<task_id>", "an ASAP task", True),
        NodeKind("asap:envelope:<id>", "an ASAP envelope", True),
        NodeKind("asap:snapshot:<task_id>/<version>", "a snapshot of an ASAP task", True),
        NodeKind("asap:artifact:<task_id>/<artifact_id>", "an artifact of an ASAP task", True),
        NodeKind("asap:call:<key>", "an MCP call", True),
        NodeKind("asap:conversation:<conversation_id>", "a conversation of ASAP tasks", True),
    ),
)
