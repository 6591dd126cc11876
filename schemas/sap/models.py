"""The objects of SAP: attributes as on the wire, unknown members in `extra`.

Members and their types are declared only here.  The checks (`shapes.shape_of`), the JSON Schemas
and the Avro records (`export`) are derived from the models.  A plain `str` is a text of at most
1024 characters; a member may be absent if its default is None.

For programs: models accept any values; `validate()` returns what is wrong with them.

Source: SAP guide, 2.1 to 2.3, 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from schemas.objects import JsonObject, WireObject
from schemas.problems import Problem
from schemas.sap import constants, rules
from schemas.sap.evidence_words import own_words_shape
from schemas.sap.shapes import (
    AGENT_ID,
    CAPABILITY,
    DECISION,
    MAX_ITEMS,
    NOTE,
    RATING,
    TIME,
    UUID,
    VERSION,
    Number,
    OfSignal,
    Shape,
    Text,
    Word,
    shape_of,
    shapes_in,
)
from schemas.sap.validate import problems_of

AgentId = Annotated[str, AGENT_ID]
Time = Annotated[str, TIME]
Uuid = Annotated[str, UUID]
Version = Annotated[str, VERSION]
Prose = Annotated[str, Text(4000)]
Sentence = Annotated[str, Text(4000, blank=False)]
Item = Annotated[str, Text(blank=False)]
EvidenceWord = Annotated[str, Text(64, blank=False)]


@dataclass(kw_only=True)
class SapObject(WireObject):
    """Any object of SAP.  MAX_MEMBERS: of one that is a map as well."""

    MAX_MEMBERS: ClassVar[int | None] = None
    BAD_JSON = rules.BAD_JSON.code
    BAD_TYPE = rules.BAD_TYPE.code


@dataclass(kw_only=True)
class Envelope(SapObject):
    """What is sent: a task, a result or a signal."""

    KIND: ClassVar[str]

    def validate(self) -> list[Problem]:
        """Return what breaks the rules, as (rule, path, message), the one that decides first."""
        return problems_of(ENVELOPES[self.KIND], self.to_json())


@dataclass(kw_only=True)
class SapParty(SapObject):
    """Who issues a task, or operates on one."""

    agentId: AgentId
    agentKind: Annotated[str, Word(constants.AGENT_KINDS)]
    name: str | None = None


@dataclass(kw_only=True)
class SapTarget(SapObject):
    """What a task is for: a capability, and perhaps the agent that is to have it."""

    capability: Annotated[str, CAPABILITY]
    agentId: AgentId | None = None
    routingHints: JsonObject | None = None


@dataclass(kw_only=True)
class SapCachePolicy(SapObject):
    """How a task wants the cache used."""

    mode: Annotated[str, Word(constants.MODES)] | None = None
    maxAgeSec: int | None = None
    mustAlign: bool | None = None


@dataclass(kw_only=True)
class SapContext(SapObject):
    """The constitutional context of a task."""

    pressureLevel: Annotated[str, Word(constants.LEVELS)]
    principles: list[Item] | None = None
    pressure: dict[str, Annotated[float, Number(0, 100)]] | None = None
    objectives: list[Sentence] | None = None
    constraints: list[Sentence] | None = None
    riskTolerance: Annotated[str, Word(constants.RISKS)] | None = None
    territory: Item | None = None
    references: list[Item] | None = None
    cachePolicy: SapCachePolicy | None = None


@dataclass(kw_only=True)
class SapContract(SapObject):
    """What the output of a task has to be."""

    schema: JsonObject | None = None
    format: str | None = None


@dataclass(kw_only=True)
class SapBudget(SapObject):
    """What a task may use; other numeric members count too."""

    MAX_MEMBERS = MAX_ITEMS  # each number in it is a limit

    tokens: Annotated[float, Number(0)] | None = None
    seconds: Annotated[float, Number(0)] | None = None


@dataclass(kw_only=True)
class SapTelemetry(SapObject):
    """Controls of a task's execution."""

    priority: Annotated[str, Word(constants.PRIORITIES)] | None = None
    deadline: Time | None = None
    budget: SapBudget | None = None
    trace: bool | None = None


@dataclass(kw_only=True)
class SapReplyTo(SapObject):
    """Where the issuer would like to be answered; carried only."""

    endpoint: str | None = None
    expectAck: bool | None = None


@dataclass(kw_only=True)
class SapAttachment(SapObject):
    """A reference to something outside of the payload."""

    uri: str | None = None
    kind: str | None = None
    digest: str | None = None


@dataclass(kw_only=True)
class SapTask(Envelope):
    """A unit of work issued to an agent or a capability, as sent."""

    KIND = "task"

    protocolVersion: Version = "2.0"
    taskId: Uuid
    parentTaskId: Uuid | None = None
    correlationId: Uuid
    issuedAt: Time
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
    """Who produced a result."""

    agentId: AgentId
    agentKind: Annotated[str, Word(constants.PRODUCER_KINDS)]


@dataclass(kw_only=True)
class SapCheck(SapObject):
    """What was found for one principle, or by one check."""

    principle: str
    status: EvidenceWord
    notes: Prose | None = None


@dataclass(kw_only=True)
class SapViolation(SapObject):
    """An issue that was found."""

    principle: str
    severity: EvidenceWord
    evidence: Prose | None = None


@dataclass(kw_only=True)
class SapCacheUse(SapObject):
    """Whether a result came from the cache."""

    hit: bool
    cacheKey: str | None = None
    ageSec: int | None = None
    version: int | None = None


@dataclass(kw_only=True)
class SapEvidence(SapObject):
    """The constitutional evidence of a result."""

    alignment: Annotated[str, Word(constants.ALIGNMENTS)]
    pressureReadings: dict[str, float] | None = None
    policyChecks: list[SapCheck] | None = None
    violations: list[SapViolation] | None = None
    citations: list[str] | None = None
    cache: SapCacheUse | None = None


@dataclass(kw_only=True)
class SapError(SapObject):
    """Why a result is no success."""

    code: str | None = None
    message: Prose | None = None
    details: JsonObject | None = None


@dataclass(kw_only=True)
class SapResult(Envelope):
    """What an agent reports of a task, and, on sap.outcomes, what the service publishes of it."""

    KIND = "result"

    protocolVersion: Version = "2.0"
    taskId: Uuid
    correlationId: Uuid
    reportedAt: Time
    producer: SapProducer
    status: Annotated[str, Word(constants.STATUSES)]
    output: Any = None
    artifacts: list[JsonObject] | None = None
    metrics: JsonObject | None = None
    constitutionalEvidence: SapEvidence
    error: SapError | None = None
    nextActions: list[JsonObject] | None = None
    meta: JsonObject | None = None


@dataclass(kw_only=True)
class SapSignal(Envelope):
    """What an operator says of a task, as sent."""

    KIND = "signal"

    protocolVersion: Version = "2.0"
    signalId: Uuid
    taskId: Uuid
    correlationId: Uuid
    sentAt: Time
    operator: SapParty
    kind: Annotated[str, Word(constants.SIGNAL_KINDS)]
    rating: Annotated[int, OfSignal(RATING)] | None = None
    decision: Annotated[str, OfSignal(DECISION)] | None = None
    note: Annotated[str, OfSignal(NOTE)] | None = None
    meta: JsonObject | None = None


ENVELOPES = {model.KIND: shape_of(model) for model in (SapTask, SapResult, SapSignal)}
SHAPES = {record: s for shape in ENVELOPES.values() for record, s in shapes_in(shape).items()}
"""Every object of SAP, by its record."""
STRICT_RESULT = own_words_shape(ENVELOPES["result"])
"""A result whose evidence has only the service's own words."""


def envelope_shape(kind: str, *, strict: bool = False) -> Shape:
    """Return the shape of an envelope.  strict: of a result, only the service's own words."""
    return STRICT_RESULT if strict and kind == SapResult.KIND else ENVELOPES[kind]


def validate_task(value: object) -> list[Problem]:
    """Return what breaks the rules in a task's JSON, what decides first; empty if it is valid."""
    return problems_of(ENVELOPES["task"], value)


def validate_result(value: object, *, strict: bool = False) -> list[Problem]:
    """Return the same for a result.  strict: its evidence has only the service's own words."""
    return problems_of(envelope_shape("result", strict=strict), value)


def validate_signal(value: object) -> list[Problem]:
    """Return the same for a signal."""
    return problems_of(ENVELOPES["signal"], value)


def validate(kind: str, value: object) -> list[Problem]:
    """Return what breaks the rules in an envelope, as JSON or as a model, what decides first.

    kind: `task`, `result` or `signal`, with or without `sap.` before it; KeyError for another.
    """
    shape = ENVELOPES[kind.removeprefix("sap.")]
    return problems_of(shape, value.to_json() if isinstance(value, Envelope) else value)
