"""The topics of SAP; `topology.topics` lists them with the rest."""

from __future__ import annotations

from topology.declarations import Kind, Topic
from topology.keeping import (
    FACT_BYTES,
    INBOX_RETENTION_MS,
    LONG_BYTES,
    TABLE_BYTES,
    dead_letters,
)

SAP_TASKS = Topic(
    "sap.tasks",
    Kind.COMMAND,
    "headrace.sap.SapTask",
    key="taskId",
    meaning="tasks as issuers send them",
    max_bytes=LONG_BYTES,
)
SAP_RESULTS = Topic(
    "sap.results",
    Kind.COMMAND,
    "headrace.sap.SapResult",
    key="taskId",
    meaning="results as agents report them",
    max_bytes=LONG_BYTES,
)
SAP_SIGNALS = Topic(
    "sap.signals",
    Kind.COMMAND,
    "headrace.sap.SapSignal",
    key="taskId",
    meaning="ratings, notes, approvals and cancels of operators",
    max_bytes=LONG_BYTES,
)
SAP_ACKS = Topic(
    "sap.acks",
    Kind.FACT,
    "headrace.sap.SapAck",
    key="taskId, else the record's key, else `-`",
    meaning="the verdict on each task, result and signal record",
    max_bytes=FACT_BYTES,
)
SAP_OUTCOMES = Topic(
    "sap.outcomes",
    Kind.FACT,
    "headrace.sap.SapResult",
    key="taskId",
    meaning="what came of each task, numbered per task: checked results, and the service's own",
    max_bytes=FACT_BYTES,
)
SAP_INBOX = Topic(
    "sap.inbox",
    Kind.INBOX,
    "headrace.sap.SapTask",
    key="target.agentId, else target.capability",
    meaning="accepted tasks that an agent should now take on",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
SAP_LOOKUPS = Topic(
    "sap.lookups",
    Kind.INTERNAL,
    "headrace.sap.SapLookup",
    key="cacheKey",
    meaning="what tasks ask of the cache and give to it",
    max_bytes=FACT_BYTES,
)
SAP_VERDICTS = Topic(
    "sap.verdicts",
    Kind.FACT,
    "headrace.sap.SapCacheVerdict",
    key="taskId",
    meaning="the cache's answer to each lookup, and its timers that fired",
    max_bytes=FACT_BYTES,
    chained=True,
)
SAP_TASK_STATES = Topic(
    "sap.task-states",
    Kind.TABLE,
    "headrace.sap.SapTaskState",
    key="taskId",
    meaning="where each task stands",
    max_bytes=TABLE_BYTES,
)
SAP_CACHE = Topic(
    "sap.cache",
    Kind.TABLE,
    "headrace.sap.SapCacheRecord",
    key="cacheKey/version",
    meaning="vetted answers, written once and never again",
    max_bytes=TABLE_BYTES,
)
SAP_LEARNING_SIGNALS = Topic(
    "sap.learning-signals",
    Kind.INTERNAL,
    "headrace.sap.SapLearningSignal",
    key="capability",
    meaning="what outcomes and operators say of a capability",
    max_bytes=FACT_BYTES,
)
SAP_LEARNING = Topic(
    "sap.learning",
    Kind.TABLE,
    "headrace.sap.SapLearning",
    key="capability/territory/fingerprint",
    meaning="the sums over tasks that ask the same thing",
    max_bytes=TABLE_BYTES,
)
SAP_HEURISTICS = Topic(
    "sap.heuristics",
    Kind.TABLE,
    "headrace.sap.SapHeuristics",
    key="capability/version",
    meaning="what was learned of each capability, one row per version",
    max_bytes=TABLE_BYTES,
)
SAP_KNOWLEDGE = Topic(
    "sap.knowledge",
    Kind.TABLE,
    "headrace.sap.SapPlaybook",
    key="capability/territory/fingerprint",
    meaning="playbooks: how tasks of one kind are done well",
    max_bytes=TABLE_BYTES,
)

SAP_TASKS_DLQ = dead_letters(SAP_TASKS, "task records that could not be judged, as sent")
SAP_RESULTS_DLQ = dead_letters(SAP_RESULTS, "result records that could not be judged, as sent")
SAP_SIGNALS_DLQ = dead_letters(SAP_SIGNALS, "signal records that could not be judged, as sent")
SAP_LOOKUPS_DLQ = dead_letters(SAP_LOOKUPS, "lookups that could not be read")
SAP_VERDICTS_DLQ = dead_letters(SAP_VERDICTS, "answers of the cache that could not be read")
SAP_LEARNING_SIGNALS_DLQ = dead_letters(
    SAP_LEARNING_SIGNALS, "records for learning that could not be read"
)

SAP = (
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
)
SAP_DEAD_LETTERS = (
    SAP_TASKS_DLQ,
    SAP_RESULTS_DLQ,
    SAP_SIGNALS_DLQ,
    SAP_LOOKUPS_DLQ,
    SAP_VERDICTS_DLQ,
    SAP_LEARNING_SIGNALS_DLQ,
)
