"""The enumerations of APC/1.0."""

from __future__ import annotations

from typing import Literal

PacketType = Literal[
    "TASK_IR",
    "IDEA",
    "CLAIM",
    "ARTIFACT",
    "SIGNAL",
    "EVAL",
    "TRANSFER",
    "ARBITRATION",
    "DECISION",
    "RETRACTION",
    "ACK",
    "NACK",
    "ERROR",
    "HEARTBEAT",
]
Channel = Literal["INTER_AGENT", "INTRA_AGENT"]
RunPhase = Literal[
    "RESEARCH",
    "DISCOVERY",
    "REFINEMENT",
    "CONVERGENCE",
    "ARBITRATION",
    "EXECUTION",
    "VALIDATION",
    "PROMOTION",
]
DeliveryMode = Literal["DIRECT", "MULTICAST", "BROADCAST", "SUBSTRATE"]
TransferMode = Literal["WINNER_TO_LOSERS", "CROSS_USE_CASE", "COMMONS_SEED", "SELECTIVE_IMPORT"]
FalsifierCost = Literal["low", "med", "high", "extreme"]
ConstraintKind = Literal["BUDGET", "SAFETY", "LATENCY", "QUALITY", "COMPLIANCE"]
EvidenceKind = Literal["code", "test", "log", "trace", "doc", "bench"]
DataVolumeClass = Literal["XS", "S", "M", "L", "XL"]
ArtifactKind = Literal[
    "CODE_PATCH",
    "MODEL_SNAPSHOT",
    "FEATURE_SET",
    "DATASET_SLICE",
    "METRIC_REPORT",
    "EXECUTION_LOG",
    "PROTOCOL",
]
SignalWord = Literal[
    "START",
    "PAUSE",
    "RESUME",
    "QUERY",
    "SYNC",
    "STOP",
    "HEARTBEAT",
    "READY_FOR_TRANSFER",
    "RETRY",
    "CANCEL",
    "VETO",
]
CommitmentLevel = Literal["PROPOSED", "APPROVED", "EXECUTING", "DONE"]
AckStatus = Literal["ACCEPTED", "REJECTED", "DEFERRED"]
