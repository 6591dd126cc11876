"""The response models for tasks, cached answers and learned values (SAP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import create_model

from schemas.catalogue import CATALOGUE
from streams.gateway.responses import (
    Count,
    Extended,
    Page,
    Position,
    ResponseModel,
    ResponseShape,
    Row,
    Time,
    record_schema,
)
from streams.protocols.sap.explain_responses import SapExplanation
from streams.protocols.sap.task_row import FROM_OUTCOME
from topology.sap import (
    SAP_ACKS,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_OUTCOMES,
    SAP_TASK_STATES_TABLE,
)

State = Literal["QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"]
CacheState = Literal["none", "lookup", "waiting", "missed", "hit"]
AckRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapAck")]
OutcomeRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapResult")]
TaskRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapTask")]
IssuerRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapParty")]
TargetRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapTarget")]
ProducerRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapProducer")]
PlaybookRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapPlaybook")]
HeuristicsRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapHeuristics")]
VersionRow = Annotated[dict[str, Any], record_schema("SapCacheVersion")]
LearningRow = Annotated[dict[str, Any], record_schema("SapLearningItem")]


_TYPES: Mapping[str, Any] = {
    "string": str,
    "boolean": bool,
    "int": int,
    "long": int,
    "double": float,
}


def _row_member(name: str) -> Any:
    """Return the type of a member of a task's row: null of a task that was never accepted."""
    schema = CATALOGUE.latest(SAP_TASK_STATES_TABLE.record).schema
    avro = next(field["type"] for field in schema["fields"] if field["name"] == name)
    branches = [avro] if isinstance(avro, str) else avro
    (present,) = (branch for branch in branches if branch != "null")
    return _TYPES[present] | None


class SapPending(ResponseModel):
    """What was sent is on the log, and time is up.  state: null while the task is not known."""

    positions: list[Position]
    taskId: str
    state: State | None


class SapTaskCache(ResponseModel):
    mode: Literal["prefer", "only", "bypass"]
    maxAgeSec: Count | None
    mustAlign: bool
    cacheKey: str
    fingerprint: str
    removedKeys: list[str]
    state: CacheState
    leader: bool
    hitVersion: Count | None
    storedVersion: Count | None
    storeRefused: bool


class _Task(ResponseModel):
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


SapTaskAnswer: type[ResponseModel] = create_model(
    "SapTaskAnswer",
    __doc__="state: null when nothing but refusals is known of it; then most is null.",
    __base__=_Task,
    **{name: _row_member(name) for name in FROM_OUTCOME},
    acks=list[AckRow],
    outcomes=list[OutcomeRow],
    task=TaskRow | None,
)


class SapListedTask(ResponseModel):
    taskId: str
    correlationId: str
    parentTaskId: str | None
    state: State
    position: Position
    acceptedAt: Time
    startedAt: Time | None
    updatedAt: Time
    closedAt: Time | None
    deadline: str | None
    issuer: IssuerRow
    target: TargetRow
    producer: ProducerRow | None
    territory: str | None
    cacheState: CacheState
    lastAlignment: str | None
    errorCode: str | None


class SapTasks(ResponseModel):
    items: list[SapListedTask]
    next: str | None


class SapRefusedVersion(ResponseModel):
    version: Count
    reason: str


class SapCheckedVersions(ResponseModel):
    """firstBad: the lowest version that is refused, or does not follow the one before it."""

    versions: Count
    firstBad: Count | None
    refused: list[SapRefusedVersion]


class SapCachedKey(ResponseModel):
    """The newest version that counts; null if none does, and then `refused` says why.

    checked: null without `verify`.
    """

    cacheKey: str
    version: Count | None
    capability: str | None
    territory: str | None
    storedAt: Time | None
    ageSec: Count | None
    alignment: str | None
    producer: str | None
    taskId: str | None
    recordSha256: str | None
    refused: str | None
    checked: SapCheckedVersions | None


class SapCachedKeys(ResponseModel):
    items: list[SapCachedKey]
    next: str | None


class Aged(ResponseModel):
    ageSec: Count


class Cached(Aged):
    versions: Count
    refusedWrites: Count


class Verified(Aged):
    verified: bool


class SapVersions(ResponseModel):
    cacheKey: str
    versions: list[VersionRow]


class SapMetricMean(ResponseModel):
    count: Count
    sum: float
    min: float
    max: float
    mean: float | None


class SapRatingsMean(ResponseModel):
    count: Count
    sum: Count
    min: int | None
    max: int | None
    mean: float | None


class Learned(ResponseModel):
    metrics: dict[str, SapMetricMean]
    ratings: SapRatingsMean
    playbook: PlaybookRow | None


class SapLearnings(ResponseModel):
    items: list[LearningRow]
    heuristics: list[HeuristicsRow]
    next: str | None


EXTENDED = (
    Extended("SapCached", "headrace.sap.SapCacheRecord", Cached),
    Extended("SapCacheVersion", "headrace.sap.SapCacheRecord", Verified),
    Extended("SapLearningItem", "headrace.sap.SapLearning", Learned),
)


RESPONSES: Mapping[str, ResponseShape] = {
    "SapAck": Row.of(SAP_ACKS),
    "SapOutcome": Row.of(SAP_OUTCOMES),
    "SapPending": SapPending,
    "SapTaskAnswer": SapTaskAnswer,
    **{extended.name: extended for extended in EXTENDED},
    "SapTasks": SapTasks,
    "SapExplanation": SapExplanation,
    "SapCachedKeys": SapCachedKeys,
    "SapPlaybook": Row.of(SAP_KNOWLEDGE),
    "SapPlaybooks": Page.of(SAP_KNOWLEDGE),
    "SapHeuristicsPage": Page.of(SAP_HEURISTICS),
    "SapVersions": SapVersions,
    "SapLearnings": SapLearnings,
}
