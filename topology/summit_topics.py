"""The topics of Summit; `topology.topics` lists them with the rest."""

from __future__ import annotations

from topology.declarations import Kind, Topic
from topology.keeping import FACT_BYTES, INBOX_RETENTION_MS, INPUT_BYTES, TABLE_BYTES, dead_letters

SUMMIT_MANIFESTS = Topic(
    "summit.manifests",
    Kind.COMMAND,
    "headrace.summit.SummitManifest",
    key="agentId",
    meaning="manifests as agents and operators send them; a null value withdraws an agent",
    max_bytes=INPUT_BYTES,
    withdraws=True,
)
SUMMIT_CALLS = Topic(
    "summit.calls",
    Kind.COMMAND,
    "headrace.summit.SummitCall",
    key="runId",
    meaning="calls as they are made: agent.invoke, tool.call, agent.cancel",
    max_bytes=INPUT_BYTES,
)
SUMMIT_REPLIES = Topic(
    "summit.replies",
    Kind.COMMAND,
    "headrace.summit.SummitReply",
    key="runId",
    meaning="what agents say of the runs they work on, and critics of those completed",
    max_bytes=INPUT_BYTES,
)
SUMMIT_EVENTS = Topic(
    "summit.events",
    Kind.FACT,
    "headrace.summit.SummitEvent",
    key="runId; of a manifest, agentId; of a key.mismatch, the record's own key",
    meaning="the verdict on each manifest, call and reply, and runs whose time was over",
    max_bytes=FACT_BYTES,
)
SUMMIT_INBOX = Topic(
    "summit.inbox",
    Kind.INBOX,
    "headrace.summit.SummitCall",
    key="agentId",
    meaning="accepted calls with effective inputs, and stop records, for the agent to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
SUMMIT_RUNS = Topic(
    "summit.runs",
    Kind.TABLE,
    "headrace.summit.SummitRun",
    key="runId",
    meaning="where each run stands, with its metrics, verification and evidence",
    max_bytes=TABLE_BYTES,
)
SUMMIT_AGENTS = Topic(
    "summit.agents",
    Kind.TABLE,
    "headrace.summit.SummitAgent",
    key="agentId[/version]",
    meaning="the manifest in force of each agent, and each version that was ever accepted",
    max_bytes=TABLE_BYTES,
)

SUMMIT_MANIFESTS_DLQ = dead_letters(SUMMIT_MANIFESTS, "manifests that could not be judged, as sent")
SUMMIT_CALLS_DLQ = dead_letters(SUMMIT_CALLS, "calls that could not be judged, as sent")
SUMMIT_REPLIES_DLQ = dead_letters(SUMMIT_REPLIES, "replies that could not be judged, as sent")

SUMMIT = (
    SUMMIT_MANIFESTS,
    SUMMIT_CALLS,
    SUMMIT_REPLIES,
    SUMMIT_EVENTS,
    SUMMIT_INBOX,
    SUMMIT_RUNS,
    SUMMIT_AGENTS,
)
SUMMIT_DEAD_LETTERS = (SUMMIT_MANIFESTS_DLQ, SUMMIT_CALLS_DLQ, SUMMIT_REPLIES_DLQ)
