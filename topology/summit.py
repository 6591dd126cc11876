"""The topics, tables, processors and lineage nodes of Summit v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.core import BEGAN, LINEAGE_EDGES, RTES_RAW
from topology.declarations import (
    KeyOf,
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
    public_table,
)
from topology.keys import member, text_of
from topology.retention import (
    FACT_BYTES,
    INBOX_RETENTION_MS,
    INPUT_BYTES,
    TABLE_BYTES,
    dead_letters,
)


def _summit_call(name: str) -> KeyOf:
    """Make a function that reads a member of the call's params, (record, value) as in Avro."""

    def key(value: Mapping[str, Any]) -> str:
        params = value.get("params")
        params = params[1] if isinstance(params, tuple) else params
        return text_of({"params": params}, f"params.{name}")

    return key


SUMMIT_MANIFESTS = Topic(
    "summit.manifests",
    TopicKind.COMMAND,
    "headrace.summit.SummitManifest",
    key="agentId",
    key_of=member("metadata.name"),
    meaning="manifests as agents and operators send them; a null value withdraws an agent",
    max_bytes=INPUT_BYTES,
    withdraws=True,
    operators_only=True,
)
SUMMIT_CALLS = Topic(
    "summit.calls",
    TopicKind.COMMAND,
    "headrace.summit.SummitCall",
    key="runId",
    key_of=_summit_call("runId"),
    meaning="calls as callers send them: agent.invoke, tool.call, agent.cancel",
    max_bytes=INPUT_BYTES,
)
SUMMIT_REPLIES = Topic(
    "summit.replies",
    TopicKind.COMMAND,
    "headrace.summit.SummitReply",
    key="runId",
    key_of=member("runId"),
    meaning="replies of agents about their runs, and verifications of completed runs by critics",
    max_bytes=INPUT_BYTES,
)
SUMMIT_AUTO_CALLS = Topic(
    "summit.auto-calls",
    TopicKind.INTERNAL,
    "headrace.summit.SummitCall",
    key="runId",
    key_of=_summit_call("runId"),
    meaning="calls of critics that the service makes, to judge completed runs",
    max_bytes=INPUT_BYTES,
)
SUMMIT_TREE = Topic(
    "summit.tree",
    TopicKind.INTERNAL,
    "headrace.summit.SummitTree",
    key="runId",
    key_of=member("runId"),
    meaning="what runs tell the runs above them: that they are there, and what they have spent;"
    " and what stops the runs below",
    max_bytes=INPUT_BYTES,
)
SUMMIT_EVENTS = Topic(
    "summit.events",
    TopicKind.FACT,
    "headrace.summit.SummitEvent",
    key="runId; of a manifest, agentId; of a key.mismatch, the record's own key",
    meaning="the verdict on each manifest, call and reply, runs that timed out, and what was"
    " counted for the runs above",
    max_bytes=FACT_BYTES,
    headers=(BEGAN,),
)
SUMMIT_INBOX = Topic(
    "summit.inbox",
    TopicKind.INBOX,
    "headrace.summit.SummitCall",
    key="agentId",
    key_of=_summit_call("agentId"),
    meaning="accepted calls with effective inputs, and stop records, for the agent to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
SUMMIT_RUNS = Topic(
    "summit.runs",
    TopicKind.TABLE,
    "headrace.summit.SummitRun",
    key="runId",
    key_of=member("runId"),
    meaning="the current state of each run, with its metrics, verification and evidence",
    max_bytes=TABLE_BYTES,
)
SUMMIT_AGENTS = Topic(
    "summit.agents",
    TopicKind.TABLE,
    "headrace.summit.SummitAgent",
    key="agentId[/version]",
    meaning="the manifest in force of each agent, and each version that was ever accepted",
    max_bytes=TABLE_BYTES,
)
SUMMIT_TREES = Topic(
    "summit.trees",
    TopicKind.TABLE,
    "headrace.summit.SummitTreeTotals",
    key="runId",
    key_of=member("runId"),
    meaning="what each run that has runs below it has spent with them",
    max_bytes=TABLE_BYTES,
)

SUMMIT_MANIFESTS_DLQ = dead_letters(SUMMIT_MANIFESTS, "manifests that could not be judged, as sent")
SUMMIT_CALLS_DLQ = dead_letters(SUMMIT_CALLS, "calls that could not be judged, as sent")
SUMMIT_REPLIES_DLQ = dead_letters(SUMMIT_REPLIES, "replies that could not be judged, as sent")
SUMMIT_AUTO_CALLS_DLQ = dead_letters(
    SUMMIT_AUTO_CALLS, "the service's calls of critics that could not be judged"
)
SUMMIT_TREE_DLQ = dead_letters(SUMMIT_TREE, "what runs told others that could not be judged")

SUMMIT_RUNS_TABLE = public_table(SUMMIT_RUNS)
SUMMIT_AGENTS_TABLE = public_table(SUMMIT_AGENTS, caught_up=True, written_once=2)
SUMMIT_REPLIES_KNOWN = Table(
    "summit-replies",
    "headrace.summit.SummitReplyKnown",
    key="runId/replyId",
    meaning="the accepted replies of each run, with the hash of each",
)
SUMMIT_TREES_TABLE = public_table(SUMMIT_TREES)
SUMMIT_TREE_ORIGINS = Table(
    "summit-tree-origins",
    "headrace.summit.SummitTreeOrigin",
    key="runId/origin",
    meaning="the last totals of each run below another, and of that one itself",
)

SUMMIT_PROCESSOR = ProcessorDeclaration(
    "summit",
    "decides manifests, calls and replies, stores each run and the evidence of its output,"
    " delivers, ends what takes too long, and adds up what runs and those below them spend",
    inputs=(SUMMIT_MANIFESTS, SUMMIT_CALLS, SUMMIT_REPLIES, SUMMIT_AUTO_CALLS, SUMMIT_TREE),
    outputs=(
        SUMMIT_EVENTS,
        SUMMIT_RUNS,
        SUMMIT_AGENTS,
        SUMMIT_INBOX,
        RTES_RAW,
        LINEAGE_EDGES,
        SUMMIT_MANIFESTS_DLQ,
        SUMMIT_CALLS_DLQ,
        SUMMIT_REPLIES_DLQ,
        SUMMIT_AUTO_CALLS,
        SUMMIT_AUTO_CALLS_DLQ,
        SUMMIT_TREE,
        SUMMIT_TREE_DLQ,
        SUMMIT_TREES,
    ),
    tables=(
        SUMMIT_RUNS_TABLE,
        SUMMIT_AGENTS_TABLE,
        SUMMIT_REPLIES_KNOWN,
        SUMMIT_TREES_TABLE,
        SUMMIT_TREE_ORIGINS,
    ),
    global_tables=(SUMMIT_AGENTS_TABLE,),
)

DECLARED = ProtocolTopology(
    "summit",
    topics=(
        SUMMIT_MANIFESTS,
        SUMMIT_CALLS,
        SUMMIT_REPLIES,
        SUMMIT_EVENTS,
        SUMMIT_INBOX,
        SUMMIT_RUNS,
        SUMMIT_AGENTS,
        SUMMIT_MANIFESTS_DLQ,
        SUMMIT_CALLS_DLQ,
        SUMMIT_REPLIES_DLQ,
        SUMMIT_AUTO_CALLS,
        SUMMIT_AUTO_CALLS_DLQ,
        SUMMIT_TREE,
        SUMMIT_TREE_DLQ,
        SUMMIT_TREES,
    ),
    processors=(SUMMIT_PROCESSOR,),
    verdicts={
        SUMMIT_MANIFESTS: (SUMMIT_EVENTS,),
        SUMMIT_CALLS: (SUMMIT_EVENTS,),
        SUMMIT_REPLIES: (SUMMIT_EVENTS,),
        SUMMIT_AUTO_CALLS: (SUMMIT_EVENTS,),
        SUMMIT_TREE: (SUMMIT_EVENTS,),
    },
    node_kinds=(
        NodeKind("summit:run:<runId>", "a Summit run", True),
        NodeKind("summit:reply:<runId>/<replyId>", "an answer to a Summit run", True),
        NodeKind("summit:call:<topic>/<partition>/<offset>", "a Summit call that cancelled a run"),
        NodeKind("summit:manifest:<agentId>/<version>", "a version of an agent's manifest", True),
    ),
)
