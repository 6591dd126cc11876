"""The objects of Summit that the service writes or returns, for programs.

Times are texts in UTC.  `check()` finds no problems in them, since the edges do not check them.

Source: Summit guide, 2.2, 2.5 and 5.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn, Self

from schemas.objects import ABSENT, JsonObject
from schemas.summit.avro_types import (
    AgentState,
    Doc,
    EventSubject,
    EventVerdict,
    Fault,
    Int,
    ReplyKind,
    RunKind,
    RunState,
    Time,
    TreeKind,
    VerificationStatus,
)
from schemas.summit.models import (
    Budget,
    Check,
    Metrics,
    Provenance,
    RunError,
    SummitManifest,
    SummitObject,
    Verification,
)


@dataclass(kw_only=True)
class ResponseModel(SummitObject):
    """An object of responses that is in no record."""

    def to_avro(self) -> NoReturn:
        """Raise TypeError, since there is no such record."""
        raise TypeError(f"a {type(self).__name__} has no Avro form")

    @classmethod
    def from_avro(cls, value: JsonObject) -> Self:
        """Raise TypeError, since there is no such record."""
        raise TypeError(f"a {cls.__name__} has no Avro form")


@dataclass(kw_only=True)
class ToolResult(ResponseModel):
    """The result of a tool call: either output or error."""

    id: str
    output: Any = ABSENT
    error: RunError | None = None


@dataclass(kw_only=True)
class RunResult(ResponseModel):
    status: str
    output: Any = ABSENT
    metrics: Metrics
    provenance: Provenance
    verification: Verification | None = None
    error: RunError | None = None


@dataclass(kw_only=True)
class RunVerification(SummitObject):
    """The verification of a run.

    status: the effective one.
    """

    status: VerificationStatus
    claimedStatus: VerificationStatus
    score: float | None = None
    checks: list[Check] = field(default_factory=list)


@dataclass(kw_only=True)
class RunJudge(SummitObject):
    agentId: str
    replyId: str
    position: str
    at: Time
    verification: RunVerification
    provenance: Provenance
    metrics: Metrics | None = None


@dataclass(kw_only=True)
class RunCancel(SummitObject):
    caller: str | None = None
    reason: str | None = None
    position: str
    at: Time


@dataclass(kw_only=True)
class Evidence(SummitObject):
    callPosition: str
    callHash: str
    inputHash: str
    manifestVersion: str
    manifestHash: str
    manifestPosition: str
    replyPosition: str | None = None
    replyHash: str | None = None
    outputHash: str | None = None


@dataclass(kw_only=True)
class SummitRun(SummitObject):
    """The state of a run.

    contextExtra: None or an object.
    """

    runId: str
    kind: RunKind
    agentId: str
    caller: str | None = None
    traceId: str | None = None
    parentRunId: str | None = None
    contextExtra: JsonObject | None = None
    toolName: str | None = None
    toolCallId: str | None = None
    state: RunState
    reason: Annotated[str, Doc("the rule of the last change of state")]
    version: int
    createdAt: Time
    startedAt: Annotated[Time | None, Doc("of the first accepted reply")] = None
    updatedAt: Time
    finishedAt: Time | None = None
    dueAt: Time
    budget: Budget | None = None
    metrics: Annotated[Metrics, Doc("effective")]
    provenance: Provenance | None = None
    message: Annotated[str | None, Doc("of the last progress")] = None
    verification: Annotated[RunVerification | None, Doc("the agent's own")] = None
    judge: RunJudge | None = None
    verificationStatus: Annotated[VerificationStatus | None, Doc("the stricter of both")] = None
    error: RunError | None = None
    cancel: RunCancel | None = None
    evidence: Evidence
    judgeRunId: Annotated[str | None, Doc("the critic's run that the service made")] = None
    judges: Annotated[str | None, Doc("of such a run: the one that it judges")] = None


@dataclass(kw_only=True)
class SummitAgent(SummitObject):
    """An accepted manifest, and the state of the agent, registered or withdrawn."""

    agentId: str
    version: str
    state: AgentState
    manifest: SummitManifest
    manifestHash: str
    position: Annotated[str, Doc("of the manifest record")]
    at: Time


@dataclass(kw_only=True)
class SchemaError(SummitObject):
    path: str
    keyword: str


@dataclass(kw_only=True)
class SummitEvent(SummitObject):
    """A fact: the verdict on a record, or a timeout."""

    eventId: str
    subject: EventSubject
    verdict: EventVerdict
    rule: str
    fault: Fault | None = None
    at: Time
    cause: str
    runId: str | None = None
    agentId: str | None = None
    caller: str | None = None
    method: str | None = None
    replyId: str | None = None
    replyKind: ReplyKind | None = None
    contentHash: str | None = None
    fromState: Annotated[str | None, Doc("set with toState, when the state changed")] = None
    toState: str | None = None
    runVersion: int | None = None
    manifestVersion: str | None = None
    manifestHash: str | None = None
    agentsSeen: Annotated[
        list[int] | None, Doc("next offsets of summit.agents as read, when there was no usable row")
    ] = None
    figures: dict[str, float] = field(default_factory=dict)
    path: Annotated[str | None, Doc("JSON Pointer of what broke the rule")] = None
    errors: list[SchemaError] = field(default_factory=list)
    message: str
    inputs: Annotated[JsonObject | None, Doc("effective, of an accepted call")] = None
    output: Annotated[Any, Doc("of a reply that completes its run")] = None
    judgeRunId: Annotated[str | None, Doc("the critic's run that the service makes")] = None
    judge: Annotated[RunJudge | None, Doc("what came of the critic's run")] = None
    originRunId: Annotated[str | None, Doc("the run that was counted, or that stops others")] = None
    treeUsd: Annotated[str | None, Doc("dollars of the whole tree, to nine decimals")] = None
    replyMessage: Annotated[str | None, Doc("the agent's own, of an accepted progress")] = None


@dataclass(kw_only=True)
class SummitTree(SummitObject):
    """A record from one run to another of its tree, over the internal topic.

    usd: dollars, to nine decimals.  tokens, usd, ended: of the origin alone.
    """

    runId: Annotated[str, Doc("the addressee")]
    kind: TreeKind
    origin: Annotated[str, Doc("the run whose figures these are; of a stop, whose budget broke")]
    via: Annotated[str, Doc("the addressee's child through which it comes; of a stop, its parent")]
    agentId: Annotated[str, Doc("of the origin")]
    caller: Annotated[str | None, Doc("of the origin")] = None
    tokens: int
    usd: str
    ended: bool
    hops: Annotated[Int, Doc("how often it was passed on")]
    rule: Annotated[str | None, Doc("of a stop: the rule that the origin's tree broke")] = None
    at: Time
    cause: str


@dataclass(kw_only=True)
class SummitTreeTotals(SummitObject):
    """The totals of a run and all runs below it.

    usd: dollars, to nine decimals.
    """

    runId: str
    tokens: int
    usd: str
    runs: Annotated[Int, Doc("the run itself included")]
    open: Annotated[Int, Doc("runs below that have not ended")]
    at: Time
    cause: str


@dataclass(kw_only=True)
class SummitTreeOrigin(SummitObject):
    """The last totals of one run of a tree; that of the run itself begins the list of the others.

    usd: dollars, to nine decimals.
    """

    via: Annotated[str, Doc("the child through which it was reached")]
    tokens: int
    usd: str
    ended: bool
    next: Annotated[str | None, Doc("the run that was linked before this one")] = None
