"""The tables of SAP; `topology.tables` lists them with the rest."""

from __future__ import annotations

from topology import topics
from topology.declarations import Table, public

SAP_TASK_STATES = public(topics.SAP_TASK_STATES)
SAP_TASK_ENVELOPES = Table(
    "sap.task-envelopes",
    "headrace.sap.SapTask",
    key="taskId",
    meaning="each accepted task as sent, written once; it is dispatched and judged from here",
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
SAP_CACHE = public(topics.SAP_CACHE)
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
    meaning="the version that each task's answer has become",
)
SAP_LEARNING = public(topics.SAP_LEARNING)
SAP_HEURISTICS = public(topics.SAP_HEURISTICS)
SAP_KNOWLEDGE = public(topics.SAP_KNOWLEDGE)
SAP_LEARNING_HEADS = Table(
    "sap.learning-heads",
    "headrace.sap.SapLearningHead",
    key="capability",
    meaning="where the derivation of heuristics stands for each capability",
)
SAP_MEMBER_GROUPS = Table(
    "sap.member-groups",
    "headrace.sap.SapMemberGroup",
    key="capability/member/looSha256",
    meaning="tasks that differ in one payload member at most, to learn volatile keys from",
)
SAP_MEMBER_TOTALS = Table(
    "sap.member-totals",
    "headrace.sap.SapMemberTotal",
    key="capability/member",
    meaning="how many groups say that a payload member is volatile, and that it is not",
)
SAP_READING_BINS = Table(
    "sap.reading-bins",
    "headrace.sap.SapBins",
    key="capability/principle",
    meaning="outcomes by the reading of each principle, to learn thresholds from",
)
SAP_CHECK_COUNTERS = Table(
    "sap.check-counters",
    "headrace.sap.SapCheckCounter",
    key="capability/check",
    meaning="how each learnable check went, to learn extra checks from",
)
SAP_LEARNING_BEST = Table(
    "sap.learning-best",
    "headrace.sap.SapLearningBest",
    key="capability/territory/fingerprint",
    meaning="the best task of each kind, and when its playbook is written again",
)
SAP_LEARNING_CITATIONS = Table(
    "sap.learning-citations",
    "headrace.sap.SapCitationCount",
    key="capability/territory/fingerprint/sha256 of the citation",
    meaning="how often each source was cited by tasks of each kind",
)

SAP: tuple[Table, ...] = (
    SAP_TASK_STATES,
    SAP_TASK_ENVELOPES,
    SAP_RATE_LIMITS,
    SAP_RESULT_HASHES,
    SAP_SIGNAL_IDS,
    SAP_SIGNAL_OPERATORS,
    SAP_CACHE,
    SAP_CACHE_HEADS,
    SAP_CACHE_WAITS,
    SAP_CACHE_STORES,
    SAP_LEARNING,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_LEARNING_HEADS,
    SAP_MEMBER_GROUPS,
    SAP_MEMBER_TOTALS,
    SAP_READING_BINS,
    SAP_CHECK_COUNTERS,
    SAP_LEARNING_BEST,
    SAP_LEARNING_CITATIONS,
)
