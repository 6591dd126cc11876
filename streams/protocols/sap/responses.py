"""Answers about tasks, vetted answers and learning (sap spec, 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from streams.gateway.answers.service import Position
from streams.gateway.answers.shapes import (
    Answer,
    Count,
    Extended,
    Response,
    Row,
    Time,
    record,
)
from topology.sap import SAP_ACKS, SAP_OUTCOMES

State = Literal["QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"]
AckRow = Annotated[dict[str, Any], record("headrace.sap.SapAck")]
OutcomeRow = Annotated[dict[str, Any], record("headrace.sap.SapResult")]
TaskRow = Annotated[dict[str, Any], record("headrace.sap.SapTask")]
IssuerRow = Annotated[dict[str, Any], record("headrace.sap.SapParty")]
TargetRow = Annotated[dict[str, Any], record("headrace.sap.SapTarget")]
ProducerRow = Annotated[dict[str, Any], record("headrace.sap.SapProducer")]
PlaybookRow = Annotated[dict[str, Any], record("headrace.sap.SapPlaybook")]
HeuristicsRow = Annotated[dict[str, Any], record("headrace.sap.SapHeuristics")]
VersionRow = Annotated[dict[str, Any], record("SapCacheVersion")]
LearningRow = Annotated[dict[str, Any], record("SapLearningItem")]


class SapPending(Answer):
    """What was sent is on the log, and time is up.  state: null while the task is not known."""

    positions: list[Position]
    taskId: str
    state: State | None


class SapTaskCache(Answer):
    mode: Literal["prefer", "only", "bypass"]
    maxAgeSec: Count | None
    mustAlign: bool
    cacheKey: str
    fingerprint: str
    removedKeys: list[str]
    state: Literal["none", "lookup", "waiting", "missed", "hit"]
    leader: bool
    hitVersion: Count | None
    storedVersion: Count | None
    storeRefused: bool


class SapTaskAnswer(Answer):
    """state: null when nothing but refusals is known of it; then most is null."""

    taskId: str
    correlationId: str | None
    parentTaskId: str | None
    state: State | None
    position: Position | None
    acceptedAt: Time | None
    startedAt: Time | None
    updatedAt: Time | None
    closedAt: Time | None
    deadline: str | None
    issuer: IssuerRow | None
    target: TargetRow | None
    producer: ProducerRow | None
    cache: SapTaskCache | None
    heuristicsVersion: Count | None
    constitution: str | None
    lastAlignment: str | None
    errorCode: str | None
    acks: list[AckRow]
    outcomes: list[OutcomeRow]
    task: TaskRow | None


class Aged(Answer):
    ageSec: Count


class Cached(Aged):
    versions: Count
    refusedWrites: Count


class Verified(Aged):
    verified: bool


class SapVersions(Answer):
    cacheKey: str
    versions: list[VersionRow]


class SapMetricMean(Answer):
    count: Count
    sum: float
    min: float
    max: float
    mean: float | None


class SapRatingsMean(Answer):
    count: Count
    sum: Count
    min: int | None
    max: int | None
    mean: float | None


class Learned(Answer):
    metrics: dict[str, SapMetricMean]
    ratings: SapRatingsMean
    playbook: PlaybookRow | None


class SapLearnings(Answer):
    items: list[LearningRow]
    heuristics: list[HeuristicsRow]
    next: str | None


EXTENDED = (
    Extended("SapCached", "headrace.sap.SapCacheRecord", Cached),
    Extended("SapCacheVersion", "headrace.sap.SapCacheRecord", Verified),
    Extended("SapLearningItem", "headrace.sap.SapLearning", Learned),
)


RESPONSES: Mapping[str, Response] = {
    "SapAck": Row.of(SAP_ACKS),
    "SapOutcome": Row.of(SAP_OUTCOMES),
    "SapPending": SapPending,
    "SapTaskAnswer": SapTaskAnswer,
    **{extended.name: extended for extended in EXTENDED},
    "SapVersions": SapVersions,
    "SapLearnings": SapLearnings,
}
