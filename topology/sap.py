"""The topics, tables, processors and lineage nodes of SAP 2.0."""

from __future__ import annotations

from topology.core import BEGAN, LINEAGE_EDGES, RTES_RAW
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
from topology.keys import member
from topology.retention import FACT_BYTES, INBOX_RETENTION_MS, LONG_BYTES, TABLE_BYTES, dead_letters
from topology.sap_keys import (
    ack_key_of,
    inbox_key_of,
    learning_key_of,
    sap_key,
    sap_version,
    stored_version_key_of,
    task_key_of,
    version_key_of,
)

__all__ = ["sap_key", "sap_version"]


REPLY_TO = Header(
    "headrace-reply-to",
    "the endpoint that the task names; headrace does not call it",
    optional=True,
)
CACHE_KEY = Header("headrace-cache-key", "the task's key in the constitutional cache")
HEURISTICS = Header(
    "headrace-heuristics", "the version of the heuristics that apply to the task, 0 if none"
)
PRIORITY = Header(
    "headrace-priority",
    "`telemetry.priority` of the task: which waiting task to take first; absent: `normal`",
    optional=True,
    schema={"enum": ["low", "normal", "high", "urgent"]},
)
SAP_TASKS = Topic(
    "sap.tasks",
    TopicKind.COMMAND,
    "headrace.sap.SapTask",
    key="taskId",
    key_of=task_key_of,
    meaning="tasks as issuers send them",
    max_bytes=LONG_BYTES,
)
SAP_RESULTS = Topic(
    "sap.results",
    TopicKind.COMMAND,
    "headrace.sap.SapResult",
    key="taskId",
    key_of=task_key_of,
    meaning="results as agents report them",
    max_bytes=LONG_BYTES,
)
SAP_SIGNALS = Topic(
    "sap.signals",
    TopicKind.COMMAND,
    "headrace.sap.SapSignal",
    key="taskId",
    key_of=task_key_of,
    meaning="ratings, notes, approvals and cancels of operators",
    max_bytes=LONG_BYTES,
    operators_only=True,
)
SAP_ACKS = Topic(
    "sap.acks",
    TopicKind.FACT,
    "headrace.sap.SapAck",
    key="taskId, else the record's key, else `-`",
    key_of=ack_key_of,
    meaning="the verdict on each task, result and signal record",
    max_bytes=FACT_BYTES,
    headers=(REPLY_TO,),
)
SAP_OUTCOMES = Topic(
    "sap.outcomes",
    TopicKind.FACT,
    "headrace.sap.SapResult",
    key="taskId",
    key_of=task_key_of,
    meaning="the outcomes of each task, numbered per task: checked results, and the service's own",
    max_bytes=FACT_BYTES,
    headers=(REPLY_TO, BEGAN),
)
SAP_INBOX = Topic(
    "sap.inbox",
    TopicKind.INBOX,
    "headrace.sap.SapTask",
    key="target.agentId, else target.capability",
    key_of=inbox_key_of,
    meaning="accepted tasks that an agent should now take on",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
    headers=(CACHE_KEY, HEURISTICS, PRIORITY),
)
SAP_LOOKUPS = Topic(
    "sap.lookups",
    TopicKind.INTERNAL,
    "headrace.sap.SapLookup",
    key="cacheKey",
    key_of=member("cacheKey"),
    meaning="cache lookups, stores and releases of tasks",
    max_bytes=FACT_BYTES,
)
SAP_VERDICTS = Topic(
    "sap.verdicts",
    TopicKind.FACT,
    "headrace.sap.SapCacheVerdict",
    key="taskId",
    key_of=task_key_of,
    meaning="the cache's answer to each lookup, and its timers that fired",
    max_bytes=FACT_BYTES,
    keyed_fact=True,
)
SAP_TASK_STATES = Topic(
    "sap.task-states",
    TopicKind.TABLE,
    "headrace.sap.SapTaskState",
    key="taskId",
    key_of=task_key_of,
    meaning="the current state of each task",
    max_bytes=TABLE_BYTES,
)
SAP_CACHE = Topic(
    "sap.cache",
    TopicKind.TABLE,
    "headrace.sap.SapCacheRecord",
    key="cacheKey/version",
    key_of=version_key_of("cacheKey"),
    meaning="checked answers, each version written once",
    max_bytes=TABLE_BYTES,
)
SAP_LEARNING_SIGNALS = Topic(
    "sap.learning-signals",
    TopicKind.INTERNAL,
    "headrace.sap.SapLearningSignal",
    key="capability",
    key_of=member("capability"),
    meaning="signals for learning about a capability, from outcomes and operators",
    max_bytes=FACT_BYTES,
)
SAP_LEARNING = Topic(
    "sap.learning",
    TopicKind.TABLE,
    "headrace.sap.SapLearning",
    key="capability/territory/fingerprint",
    key_of=learning_key_of,
    meaning="aggregates over tasks with the same fingerprint",
    max_bytes=TABLE_BYTES,
)
SAP_HEURISTICS = Topic(
    "sap.heuristics",
    TopicKind.TABLE,
    "headrace.sap.SapHeuristics",
    key="capability/version",
    key_of=version_key_of("capability"),
    meaning="heuristics learned for each capability, one row per version",
    max_bytes=TABLE_BYTES,
)
SAP_KNOWLEDGE = Topic(
    "sap.knowledge",
    TopicKind.TABLE,
    "headrace.sap.SapPlaybook",
    key="capability/territory/fingerprint",
    key_of=learning_key_of,
    meaning="playbooks: how tasks of one kind are done well",
    max_bytes=TABLE_BYTES,
)

SAP_TASKS_DLQ = dead_letters(SAP_TASKS, "task records that could not be judged, as sent")
SAP_RESULTS_DLQ = dead_letters(SAP_RESULTS, "result records that could not be judged, as sent")
SAP_SIGNALS_DLQ = dead_letters(SAP_SIGNALS, "signal records that could not be judged, as sent")
SAP_LOOKUPS_DLQ = dead_letters(SAP_LOOKUPS, "lookups that could not be read")
SAP_VERDICTS_DLQ = dead_letters(SAP_VERDICTS, "cache verdicts that could not be read")
SAP_LEARNING_SIGNALS_DLQ = dead_letters(
    SAP_LEARNING_SIGNALS, "learning signals that could not be read"
)

SAP_TASK_STATES_TABLE = public_table(SAP_TASK_STATES)
SAP_TASK_ENVELOPES = Table(
    "sap.task-envelopes",
    "headrace.sap.SapTask",
    key="taskId",
    meaning="each accepted task as sent, written once; dispatch and evaluation read it",
    written_once=1,
)
SAP_RATE_LIMITS = Table(
    "sap.rate-limits",
    "headrace.sap.SapRateLimit",
    key="issuer.agentId",
    meaning="how many tasks each issuer may send now",
)
SAP_RESULT_HASHES = Table(
    "sap.result-hashes",
    "headrace.sap.SapKnown",
    key="taskId/hash",
    meaning="the accepted results of each task",
)
SAP_SIGNAL_IDS = Table(
    "sap.signal-ids",
    "headrace.sap.SapKnown",
    key="taskId/signalId",
    meaning="the accepted signals of each task",
)
SAP_SIGNAL_OPERATORS = Table(
    "sap.signal-operators",
    "headrace.sap.SapKnown",
    key="taskId/kind/operator.agentId",
    meaning="who has rated and who has approved each task",
)
SAP_CACHE_TABLE = public_table(
    SAP_CACHE,
    copied_parts=2,
    written_once=2,
    absent_if_refused=True,
    replicated_if="SAP_CACHE_COPY",
    limited_by="SAP_CACHE_COPY_BYTES",
)
SAP_STORED_VERSIONS = Table(
    "sap.stored-versions",
    "headrace.sap.SapCacheVerdict",
    key="cacheKey/version",
    meaning="the verdict that each version of a cached answer was stored",
    topic=SAP_VERDICTS,
    copied_parts=2,
    written_once=2,
    replicated_if="SAP_CACHE_COPY",
    limited_by="SAP_CACHE_COPY_BYTES",
    fact_key_of=stored_version_key_of,
)
SAP_CACHE_HEADS = Table(
    "sap.cache-heads",
    "headrace.sap.SapCacheHead",
    key="cacheKey",
    meaning="the newest version of each answer, and the task that computes the next",
)
SAP_CACHE_WAITS = Table(
    "sap.cache-waits",
    "headrace.sap.SapCacheWait",
    key="cacheKey/arrival",
    meaning="lookups that wait for another task's answer",
)
SAP_CACHE_STORES = Table(
    "sap.cache-stores",
    "headrace.sap.SapCacheStore",
    key="cacheKey/taskId",
    meaning="the cache version that holds each task's answer",
)
SAP_LEARNING_TABLE = public_table(SAP_LEARNING)
SAP_HEURISTICS_TABLE = public_table(SAP_HEURISTICS, written_once=2, absent_if_refused=True)
SAP_KNOWLEDGE_TABLE = public_table(SAP_KNOWLEDGE, absent_if_refused=True)
SAP_LEARNING_HEADS = Table(
    "sap.learning-heads",
    "headrace.sap.SapLearningHead",
    key="capability",
    meaning="progress of the derivation of heuristics of each capability",
)
SAP_MEMBER_GROUPS = Table(
    "sap.member-groups",
    "headrace.sap.SapMemberGroup",
    key="capability/member/looSha256",
    meaning="groups of tasks that differ in at most one payload member, to learn volatile keys",
)
SAP_MEMBER_TOTALS = Table(
    "sap.member-totals",
    "headrace.sap.SapMemberTotal",
    key="capability/member",
    meaning="how many groups count for and against a payload member being volatile",
)
SAP_READING_BINS = Table(
    "sap.reading-bins",
    "headrace.sap.SapBins",
    key="capability/principle",
    meaning="outcomes by the pressure reading of each principle, to learn thresholds",
)
SAP_CHECK_COUNTERS = Table(
    "sap.check-counters",
    "headrace.sap.SapCheckCounter",
    key="capability/check",
    meaning="results of each learnable check, to learn extra checks",
)
SAP_LEARNING_BEST = Table(
    "sap.learning-best",
    "headrace.sap.SapLearningBest",
    key="capability/territory/fingerprint",
    meaning="the best task of each kind, and when its playbook is written next",
)
SAP_LEARNING_CITATIONS = Table(
    "sap.learning-citations",
    "headrace.sap.SapCitationCount",
    key="capability/territory/fingerprint/sha256 of the citation",
    meaning="how often each source was cited by tasks of each kind",
)

SAP_PROCESSOR = ProcessorDeclaration(
    "sap",
    "decides tasks, results and signals, looks up the cache, dispatches, enforces deadlines, and"
    " publishes the outcomes",
    inputs=(SAP_TASKS, SAP_RESULTS, SAP_SIGNALS, SAP_VERDICTS),
    outputs=(
        SAP_ACKS,
        SAP_OUTCOMES,
        SAP_TASK_STATES,
        RTES_RAW,
        LINEAGE_EDGES,
        SAP_INBOX,
        SAP_LOOKUPS,
        SAP_VERDICTS,
        SAP_LEARNING_SIGNALS,
        SAP_TASKS_DLQ,
        SAP_RESULTS_DLQ,
        SAP_SIGNALS_DLQ,
        SAP_VERDICTS_DLQ,
    ),
    tables=(
        SAP_TASK_STATES_TABLE,
        SAP_TASK_ENVELOPES,
        SAP_RATE_LIMITS,
        SAP_RESULT_HASHES,
        SAP_SIGNAL_IDS,
        SAP_SIGNAL_OPERATORS,
    ),
    global_tables=(SAP_HEURISTICS_TABLE, SAP_CACHE_TABLE, SAP_STORED_VERSIONS),
)
SAP_CACHE_PROCESSOR = ProcessorDeclaration(
    "sap-cache",
    "answers lookups from checked records, checks them again, stores new ones once, and lets one"
    " task compute what many ask for",
    inputs=(SAP_LOOKUPS,),
    outputs=(SAP_CACHE, LINEAGE_EDGES, SAP_VERDICTS, SAP_LOOKUPS_DLQ),
    tables=(SAP_CACHE_TABLE, SAP_CACHE_HEADS, SAP_CACHE_WAITS, SAP_CACHE_STORES),
)
SAP_LEARNING_PROCESSOR = ProcessorDeclaration(
    "sap-learning",
    "aggregates outcomes and operators' signals, and derives heuristics and playbooks",
    inputs=(SAP_LEARNING_SIGNALS,),
    outputs=(SAP_LEARNING, SAP_HEURISTICS, SAP_KNOWLEDGE, LINEAGE_EDGES, SAP_LEARNING_SIGNALS_DLQ),
    tables=(
        SAP_LEARNING_TABLE,
        SAP_HEURISTICS_TABLE,
        SAP_KNOWLEDGE_TABLE,
        SAP_LEARNING_HEADS,
        SAP_MEMBER_GROUPS,
        SAP_MEMBER_TOTALS,
        SAP_READING_BINS,
        SAP_CHECK_COUNTERS,
        SAP_LEARNING_BEST,
        SAP_LEARNING_CITATIONS,
    ),
    linger_ms=100,
)

DECLARED = ProtocolTopology(
    "sap",
    topics=(
        SAP_TASKS,
        SAP_RESULTS,
        SAP_SIGNALS,
        SAP_ACKS,
        SAP_OUTCOMES,
        SAP_INBOX,
        SAP_LOOKUPS,
        SAP_VERDICTS,
        SAP_TASK_STATES,
        SAP_CACHE,
        SAP_LEARNING_SIGNALS,
        SAP_LEARNING,
        SAP_HEURISTICS,
        SAP_KNOWLEDGE,
        SAP_TASKS_DLQ,
        SAP_RESULTS_DLQ,
        SAP_SIGNALS_DLQ,
        SAP_LOOKUPS_DLQ,
        SAP_VERDICTS_DLQ,
        SAP_LEARNING_SIGNALS_DLQ,
    ),
    processors=(SAP_PROCESSOR, SAP_CACHE_PROCESSOR, SAP_LEARNING_PROCESSOR),
    verdicts={SAP_TASKS: (SAP_ACKS,), SAP_RESULTS: (SAP_ACKS,), SAP_SIGNALS: (SAP_ACKS,)},
    node_kinds=(
        NodeKind("sap:task:<taskId>", "a SAP task"),
        NodeKind("sap:outcome:<taskId>/<n>", "the n-th outcome of a SAP task"),
        NodeKind("sap:signal:<signalId>", "an operator's signal on a SAP task"),
        NodeKind("sap:cache:<cacheKey>/<version>", "a version of a cached answer"),
        NodeKind(
            "sap:heuristics:<capability>/<version>", "a version of the heuristics of a capability"
        ),
        NodeKind("sap:playbook:<capability>/<territory>/<fingerprint>", "a playbook", True),
    ),
)
