"""The payloads of the fourteen packet types (APC guide, 2.4, 2.5)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from schemas.apc.envelope import Ratio, Time, Uuid
from schemas.apc.vocabulary import (
    AckStatus,
    ArtifactKind,
    CommitmentLevel,
    ConstraintKind,
    DataVolumeClass,
    EvidenceKind,
    FalsifierCost,
    SignalWord,
    TransferMode,
)
from schemas.model import (
    ClosedModel,
    Flag,
    Name,
    Natural,
    Number,
    OpenObject,
    Share,
    ShortText,
    Text,
)


class OdeSystem(ClosedModel):
    """Absent times are read as 0 and 50, absent points as 500."""

    state_variables: Annotated[list[Name], Field(min_length=1)]
    equations: Annotated[list[Name], Field(min_length=1)]
    parameters: dict[str, Number]
    initial_state: dict[str, Number]
    time_start: Number | None = None
    time_end: Number | None = None
    num_points: Annotated[int, Strict(), Field(ge=5, le=100_000)] | None = None


class FormulaBundle(ClosedModel):
    representation_version: Text | None = None
    latex_full: Text | None = None
    latex_compact: Text | None = None
    sympy_str: Text | None = None
    sympy_canonical: Text | None = None
    functor_map: Text | None = None
    simulation_snippet: Text | None = None
    equilibria_sympy: Text | None = None
    ast_json: OpenObject | None = None
    domains: list[Text] | None = None
    var_ontology: dict[str, Text] | None = None
    ode_system: OdeSystem | None = None


class IrHeader(ClosedModel):
    task_id: Text
    run_id: Text
    swarm_id: Text
    dialect_id: Text
    dialect_hash: Text


class IrClaim(ClosedModel):
    type: Literal["Claim"]
    id: Text
    hypothesis_id: Text
    text: Text
    confidence_pre: Share
    confidence_post: Share


class IrFalsifier(ClosedModel):
    type: Literal["Falsifier"]
    id: Text
    target_claim_id: Text
    test: Text
    fail_if: Text
    cost: FalsifierCost


class IrDecision(ClosedModel):
    type: Literal["Decision"]
    id: Text
    recommendation: Text
    priority_distribution: dict[str, Share]
    next_actions: list[Text]


class IrConstraint(ClosedModel):
    type: Literal["Constraint"]
    id: Text
    constraint_kind: ConstraintKind
    expression: Text


class IrEvidence(ClosedModel):
    type: Literal["Evidence"]
    id: Text
    kind: EvidenceKind
    ref: Text
    supports: Flag


IrObject = Annotated[
    IrClaim | IrFalsifier | IrDecision | IrConstraint | IrEvidence, Field(discriminator="type")
]


class Normalization(ClosedModel):
    ordering: Text | None = None
    text_normalization: Text | None = None
    hash_algorithm: Text | None = None
    canonical_hash: Text | None = None


class TaskIrPayload(ClosedModel):
    ir_header: IrHeader
    objects: Annotated[list[IrObject], Field(min_length=1)]
    normalization: Normalization | None = None
    formula_bundle: FormulaBundle | None = None


Impact = Annotated[float, Strict(), Field(ge=-1, le=1)]


class ExpectedImpact(ClosedModel):
    quality_gain: Impact
    cost_change: Impact
    risk_change: Impact


class FailureMode(ClosedModel):
    id: Text
    description: Text
    mitigation: Text


class Complexity(ClosedModel):
    time_class: Text | None = None
    space_class: Text | None = None
    data_volume_class: DataVolumeClass | None = None


class LanguageBinding(ClosedModel):
    language: Text
    adapter_hint: Text
    required_runtime: Text | None = None


class IdeaPayload(ClosedModel):
    method_id: Text
    intent: Text
    assumptions: list[Text]
    required_capabilities: list[Text]
    expected_impact: ExpectedImpact
    failure_modes: list[FailureMode]
    complexity: Complexity | None = None
    test_contract_refs: list[Text] | None = None
    language_bindings: list[LanguageBinding] | None = None
    formula_bundle: FormulaBundle | None = None


class ClaimPayload(ClosedModel):
    claim_id: Text
    hypothesis_id: Text
    text: Text
    confidence_pre: Share
    confidence_post: Share


class ArtifactPayload(ClosedModel):
    artifact_id: Text
    artifact_uri: Text
    artifact_hash: Text
    artifact_kind: ArtifactKind
    language: Text | None = None
    adapter: Text | None = None
    formula_bundle: FormulaBundle | None = None


class SignalPayload(ClosedModel):
    signal: SignalWord
    reason: Text | None = None
    expected_response_by: Time | None = None


class MetricSet(ClosedModel):
    rtf: Share
    stability: Share
    audit: Share
    outcome: Share
    learnability: Share
    generalization_ratio: Ratio
    symbol_coverage: Share | None = None
    drift_risk: Share | None = None


class Thresholds(ClosedModel):
    rtf: Number
    stability: Number
    audit: Number
    outcome: Number
    learnability: Number
    generalization_ratio: Number


class EvalPayload(ClosedModel):
    metric_set: MetricSet
    thresholds: Thresholds
    pass_: Flag = Field(alias="pass")
    notes: list[Text] | None = None


class TransferPolicy(ClosedModel):
    mode: TransferMode
    min_generation: Natural
    threshold_multiplier: Annotated[float, Strict(), Field(ge=1, le=3)] | None = None
    top_k: Annotated[int, Strict(), Field(ge=1, le=10)] | None = None


class TransferPayload(ClosedModel):
    protocol_id: ShortText
    from_swarm: ShortText
    to_swarm: ShortText
    sender_score: Share
    receiver_score: Share
    transfer_policy: TransferPolicy
    accepted: Flag | None = None


class Candidate(ClosedModel):
    candidate_id: ShortText
    packet_ref_ids: list[Uuid]
    score_components: dict[str, Number]
    total_score: Share
    risk_flags: list[Text] | None = None


class Veto(ClosedModel):
    agent_id: ShortText
    reason: Text


class ArbitrationPayload(ClosedModel):
    arbitration_id: ShortText
    winner_candidate_id: ShortText
    candidates: Annotated[list[Candidate], Field(min_length=2)]
    scoring: dict[str, Number]
    vetoes: list[Veto] | None = None


class DecisionPayload(ClosedModel):
    decision_id: Text
    recommendation: Text
    priority_distribution: dict[str, Share]
    next_actions: list[Text]
    commitment_level: CommitmentLevel | None = None


class RetractionPayload(ClosedModel):
    target_packet_id: Uuid
    reason: Text
    replacement_packet_id: Uuid | None = None


class AckPayload(ClosedModel):
    acked_packet_id: Uuid
    ack_status: AckStatus
    reason: Text | None = None


class ErrorPayload(ClosedModel):
    error_code: Text
    message: Text
    retryable: Flag
    details: OpenObject | None = None
