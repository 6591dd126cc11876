"""Answers about packets (APC guide, 6.2, 6.4, 6.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from streams.gateway.responses import (
    Count,
    EdgeRow,
    Json,
    Page,
    ResponseModel,
    ResponseShape,
    Row,
    Share,
    Time,
    record_schema,
)
from streams.protocols.apc import lineage_responses, prior_responses
from topology.apc import APC_DECISIONS, APC_EVENTS, APC_LINEAGE, APC_PACKET_STATES, APC_THROTTLING

AcksRow = Annotated[dict[str, Any], record_schema("headrace.apc.AckStanding")]
AntiDriftRow = Annotated[dict[str, Any], record_schema("headrace.apc.AntiDrift")]
GatesRow = Annotated[dict[str, Any], record_schema("headrace.apc.Gates")]
NoteRow = Annotated[dict[str, Any], record_schema("headrace.apc.CoordinationNote")]
StateRow = Annotated[dict[str, Any], record_schema("headrace.apc.ApcCoordination")]
ThrottleRow = Annotated[dict[str, Any], record_schema("headrace.apc.Throttle")]
TransitionRow = Annotated[dict[str, Any], record_schema("headrace.apc.Transition")]
Views = Literal["views"]


class Step(ResponseModel):
    event: str
    from_state: str | None
    to_state: str
    metadata: Json
    occurred_at: Time
    rule: str | None
    message: str | None


class PacketStep(Step):
    packet_id: str


class PlacedStep(PacketStep):
    packet_type: str
    run_phase: str


class TracedPacket(ResponseModel):
    packet_id: str
    task_id: str
    run_id: str
    attempt_number: Count
    packet_type: str
    channel: str
    run_phase: str
    sender_role: str
    trace_id: str
    lifecycle_state: str
    created_at: Time
    payload_keys: list[str]
    verdict: str
    rule: str
    message: str
    position: str


class JudgedPacket(TracedPacket):
    """With `verdicts`."""

    session_id: str
    sender: str
    recipients: list[str]


class Trace(ResponseModel):
    source: Views
    count: Count
    event_count: Count
    packets: list[TracedPacket | JudgedPacket]
    events: list[PacketStep]
    next: str | None


class ApcSession(ResponseModel):
    """state: of the session's coordination; null before there is one."""

    session_id: str
    packets: Count
    rejected: Count
    state: str | None
    last_at: Time


class ApcSessions(ResponseModel):
    items: list[ApcSession]
    next: str | None


class ReplayedPacket(ResponseModel):
    packet_id: str
    packet_type: str
    run_phase: str
    trace_id: str
    created_at: Time
    final_state: str
    transitions: list[Step]
    session_id: str
    task_id: str
    position: str


class Replay(ResponseModel):
    """returned: rows of event_stream.  hint: how to get all of them, null if these are all."""

    source: Views
    run_id: str
    task_id: str | None
    packet_count: Count
    event_count: Count
    packets: list[ReplayedPacket]
    event_stream: list[PlacedStep]
    session_id: str | None
    returned: Count
    hint: str | None


class Counterfactual(ResponseModel):
    given: dict[str, Json]
    standing: Literal["recorded", "now"]
    passes: bool
    decided_by: str
    throttle: ThrottleRow | None
    changed: list[str]


class Explanation(ResponseModel):
    packet_id: str
    session_id: str
    verdict: Literal["accepted", "duplicate", "rejected"]
    rule: str
    message: str
    position: str
    state: str | None
    transitions: list[TransitionRow]
    acks: AcksRow | None
    throttle: ThrottleRow | None
    gates: GatesRow | None
    anti_drift: AntiDriftRow | None
    coordination: list[NoteRow]
    warnings: list[str]
    facts: list[str]
    edges: list[EdgeRow]


class WhatIf(Explanation):
    counterfactual: Counterfactual


class Coordination(ResponseModel):
    inter: StateRow | None
    intra: list[StateRow]


class Ranked(ResponseModel):
    packet_id: str
    to_swarm: str
    selector: str
    selection_score: Annotated[float, Field(ge=0)]
    sender_score: Share
    receiver_score: Share
    score_delta: float
    recommended_accept: bool


class RefusedPacket(ResponseModel):
    index: Annotated[int, Field(ge=1)]
    packet_id: Json
    reason: str


class RefusedValue(ResponseModel):
    index: Annotated[int, Field(ge=1)]
    reason: str


class Ranking(ResponseModel):
    input_count: Count
    valid_transfer_count: Count
    selected_count: Count
    top_k: int
    selected: list[Ranked]
    not_selected: list[Ranked]
    rejected: list[RefusedPacket | RefusedValue]


class GateCheck(ResponseModel):
    metric: str
    value: float | None
    used: float | None
    op: Literal[">=", "<="]
    threshold: float
    ok: bool


class GateChecks(ResponseModel):
    met: bool
    checks: list[GateCheck]


class Evaluation(ResponseModel):
    promotable: bool
    gates: GateChecks
    passed: Annotated[bool | None, Field(alias="pass")]
    pass_agrees: bool | None


RESPONSES: Mapping[str, ResponseShape] = {
    "Trace": Trace,
    "Replay": Replay,
    "ApcSessions": ApcSessions,
    "Packet": Row.of(APC_PACKET_STATES),
    "PacketEvents": Page.of(APC_EVENTS),
    "Explanation": (Explanation, WhatIf),
    "Ranking": Ranking,
    "Evaluation": Evaluation,
    "Coordination": Coordination,
    "Throttles": Page.of(APC_THROTTLING),
    "Decisions": Page.of(APC_DECISIONS),
    "ProtocolTotal": Row.of(APC_LINEAGE),
    "LineageSummary": lineage_responses.LineageSummary,
    "Protocols": lineage_responses.Protocols,
    "Propagation": lineage_responses.Propagation,
    "TransferQuality": lineage_responses.TransferQuality,
    "EvalCorrelation": lineage_responses.EvalCorrelation,
    "Effectiveness": lineage_responses.Effectiveness,
    "ProtocolStandings": lineage_responses.ProtocolStandings,
    "Priors": prior_responses.Priors,
    "PriorExplanation": prior_responses.PriorExplanation,
    "Teachings": lineage_responses.Teachings,
    "Generations": lineage_responses.Generations,
}
