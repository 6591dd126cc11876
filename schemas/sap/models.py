"""The objects of SAP for programs: attributes as on the wire, unknown members in `extra`.

They hold whatever they are given; `validate()` says what is wrong with it.

Source: SAP spec, 2.1 to 2.3, 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from schemas.objects import JsonObject, WireObject
from schemas.problems import Problem
from schemas.sap import rules
from schemas.sap.shapes import ENVELOPES
from schemas.sap.validate import problems_of


@dataclass(kw_only=True)
class SapObject(WireObject):
    """Any object of SAP."""

    BAD_JSON = rules.BAD_JSON.code
    BAD_TYPE = rules.BAD_TYPE.code


@dataclass(kw_only=True)
class Envelope(SapObject):
    """What is sent: a task, a result or a signal."""

    KIND: ClassVar[str]

    def validate(self) -> list[Problem]:
        """What breaks the rules, as (rule, path, message), the one that decides first."""
        return problems_of(ENVELOPES[self.KIND], self.to_json())


@dataclass(kw_only=True)
class SapParty(SapObject):
    agentId: str
    agentKind: str
    name: str | None = None


@dataclass(kw_only=True)
class SapTarget(SapObject):
    capability: str
    agentId: str | None = None
    routingHints: JsonObject | None = None


@dataclass(kw_only=True)
class SapCachePolicy(SapObject):
    mode: str | None = None
    maxAgeSec: int | None = None
    mustAlign: bool | None = None


@dataclass(kw_only=True)
class SapContext(SapObject):
    pressureLevel: str
    principles: list[str] | None = None
    pressure: dict[str, float] | None = None
    objectives: list[str] | None = None
    constraints: list[str] | None = None
    riskTolerance: str | None = None
    territory: str | None = None
    references: list[str] | None = None
    cachePolicy: SapCachePolicy | None = None


@dataclass(kw_only=True)
class SapContract(SapObject):
    schema: JsonObject | None = None
    format: str | None = None


@dataclass(kw_only=True)
class SapBudget(SapObject):
    tokens: float | None = None
    seconds: float | None = None


@dataclass(kw_only=True)
class SapTelemetry(SapObject):
    priority: str | None = None
    deadline: str | None = None
    budget: SapBudget | None = None
    trace: bool | None = None


@dataclass(kw_only=True)
class SapReplyTo(SapObject):
    endpoint: str | None = None
    expectAck: bool | None = None


@dataclass(kw_only=True)
class SapAttachment(SapObject):
    uri: str | None = None
    kind: str | None = None
    digest: str | None = None


@dataclass(kw_only=True)
class SapTask(Envelope):
    KIND = "task"

    protocolVersion: str = "2.0"
    taskId: str
    parentTaskId: str | None = None
    correlationId: str
    issuedAt: str
    issuer: SapParty
    target: SapTarget
    constitutionalContext: SapContext
    payload: JsonObject
    outputContract: SapContract | None = None
    telemetry: SapTelemetry | None = None
    replyTo: SapReplyTo | None = None
    attachments: list[SapAttachment] | None = None
    tags: list[str] | None = None
    meta: JsonObject | None = None


@dataclass(kw_only=True)
class SapProducer(SapObject):
    agentId: str
    agentKind: str


@dataclass(kw_only=True)
class SapCheck(SapObject):
    principle: str
    status: str
    notes: str | None = None


@dataclass(kw_only=True)
class SapViolation(SapObject):
    principle: str
    severity: str
    evidence: str | None = None


@dataclass(kw_only=True)
class SapCacheUse(SapObject):
    hit: bool
    cacheKey: str | None = None
    ageSec: int | None = None
    version: int | None = None


@dataclass(kw_only=True)
class SapEvidence(SapObject):
    alignment: str
    pressureReadings: dict[str, float] | None = None
    policyChecks: list[SapCheck] | None = None
    violations: list[SapViolation] | None = None
    citations: list[str] | None = None
    cache: SapCacheUse | None = None


@dataclass(kw_only=True)
class SapError(SapObject):
    code: str | None = None
    message: str | None = None
    details: JsonObject | None = None


@dataclass(kw_only=True)
class SapResult(Envelope):
    KIND = "result"

    protocolVersion: str = "2.0"
    taskId: str
    correlationId: str
    reportedAt: str
    producer: SapProducer
    status: str
    output: Any = None
    artifacts: list[JsonObject] | None = None
    metrics: JsonObject | None = None
    constitutionalEvidence: SapEvidence
    error: SapError | None = None
    nextActions: list[JsonObject] | None = None
    meta: JsonObject | None = None


@dataclass(kw_only=True)
class SapSignal(Envelope):
    KIND = "signal"

    protocolVersion: str = "2.0"
    signalId: str
    taskId: str
    correlationId: str
    sentAt: str
    operator: SapParty
    kind: str
    rating: int | None = None
    decision: str | None = None
    note: str | None = None
    meta: JsonObject | None = None


def validate(kind: str, value: object) -> list[Problem]:
    """What breaks the rules in an envelope, as JSON or as a model, what decides first.

    kind: `task`, `result` or `signal`, with or without `sap.` before it; KeyError for another.
    """
    shape = ENVELOPES[kind.removeprefix("sap.")]
    return problems_of(shape, value.to_json() if isinstance(value, Envelope) else value)
