"""The tables of ASAP; `topology.tables` lists them with the rest."""

from __future__ import annotations

from topology import topics
from topology.declarations import Table, public

ASAP_MANIFESTS = public(topics.ASAP_MANIFESTS, fresh=True)
ASAP_TASKS = public(topics.ASAP_TASKS)
ASAP_SNAPSHOTS = public(topics.ASAP_SNAPSHOTS)
ASAP_RESPONSES = Table(
    "asap-responses",
    "dev.headrace.asap.AsapEnvelope",
    key="task_id",
    meaning="the response that ended each task, written once; it is sent again from here",
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
    meaning="requests that wait for an answer from another key, and how many records behind them",
)
ASAP_HELD = Table(
    "asap-held",
    "dev.headrace.asap.AsapHeld",
    key="task key/number",
    meaning="those requests, and the records behind them in their order",
)
ASAP_CLAIMS = Table(
    "asap-claims",
    "dev.headrace.asap.AsapClaim",
    key="`claim:` and SHA-256 of [sender, skill_id, idempotency_key]",
    meaning="which task each idempotency key stands for",
)
ASAP_REDIRECTS = Table(
    "asap-redirects",
    "dev.headrace.asap.AsapRedirect",
    key="task key",
    meaning="requests that an older task answers",
)
ASAP_CALLS = Table(
    "asap-calls",
    "dev.headrace.asap.AsapCall",
    key="call key: request_id, or the id of the fetch",
    meaning="where each MCP call stands",
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
    meaning="the version that each snapshot id stands for",
)
ASAP_AGENTS = Table(
    "asap-agents",
    "dev.headrace.asap.AsapAgent",
    key="agent URN",
    meaning="the hash of each agent's manifest in force",
)

ASAP: tuple[Table, ...] = (
    ASAP_MANIFESTS,
    ASAP_TASKS,
    ASAP_SNAPSHOTS,
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
)
