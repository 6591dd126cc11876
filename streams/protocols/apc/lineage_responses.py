"""Answers about protocols (APC guide, 6.1, 6.3), and the lineage graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from streams.gateway.responses import Count, ResponseModel, Share, Time, record_schema

DecisionRow = Annotated[dict[str, Any], record_schema("headrace.apc.ApcDecision")]


class ProtocolRow(ResponseModel):
    protocol_id: str
    transfer_count: Count
    run_count: Count
    task_count: Count
    cross_use_case_count: Count
    last_seen_at: Time


class Protocols(ResponseModel):
    items: list[ProtocolRow]
    next: str | None


class PropagationRow(ResponseModel):
    protocol_id: str
    parent_protocol_ids: list[str]
    ancestor_swarms: list[str]
    cross_use_case: bool
    transfer_mode: str | None
    packet_id: str
    packet_type: str
    run_phase: str
    run_id: str
    project_id: str | None
    task_id: str
    trace_id: str
    created_at: Time


class Propagation(ResponseModel):
    items: list[PropagationRow]
    next: str | None


class QualityRow(ResponseModel):
    transfer_mode: str
    total_count: Count
    accepted_count: Count
    cross_use_case_count: Count
    avg_sender_score: Share | None
    avg_receiver_score: Share | None


class TransferQuality(ResponseModel):
    items: list[QualityRow]


class CorrelationRow(ResponseModel):
    has_cross_use_case_transfer: bool
    task_count: Count
    avg_outcome: Share | None
    avg_drift_risk: Share | None


class Coefficient(ResponseModel):
    """A coefficient over n transfers with an outcome; null below 3, or without variance."""

    coefficient: Annotated[float, Field(ge=-1, le=1)] | None
    n: Count


class Correlation(ResponseModel):
    """Transfers and the mean outcome of their tasks.

    point_biserial: whether the transfer was accepted.  pearson: sender's score minus receiver's.
    """

    point_biserial: Coefficient
    pearson: Coefficient


class EvalCorrelation(ResponseModel):
    items: list[CorrelationRow]
    correlation: Correlation


class EffectivenessRow(ResponseModel):
    protocol_id: str
    transfer_count: Count
    accepted_count: Count
    run_count: Count
    task_count: Count
    avg_outcome: Share | None
    avg_drift_risk: Share | None


class Effectiveness(ResponseModel):
    items: list[EffectivenessRow]
    next: str | None


class RatedQuality(QualityRow):
    acceptance_rate: Share


class MarkedProtocol(ProtocolRow):
    blocked: bool
    blocked_since: Time | None


class RatedEffectiveness(EffectivenessRow):
    acceptance_rate: Share
    outcome_lift: float | None
    drift_risk_delta: float | None
    effectiveness_score: Share
    blocked: bool
    blocked_since: Time | None


class ProtocolStanding(ResponseModel):
    """A protocol over all runs, and the last decision on it."""

    protocol_id: str
    transfers: Count
    accepted: Count
    run_count: Count
    avg_outcome: Share | None
    avg_drift_risk: Share | None
    effectiveness_score: Share
    blocked: bool
    blocked_reasons: list[str]
    blocked_since: Time | None
    last_seen_at: Time | None
    last_decision: DecisionRow | None


class ProtocolStandings(ResponseModel):
    items: list[ProtocolStanding]
    next: str | None


class SummaryFilters(ResponseModel):
    session_id: str | None
    project_id: str | None
    run_id: str | None
    protocol_id: str | None
    limit: Count


class SummaryCounts(ResponseModel):
    protocol_count: Count
    transfer_count: Count
    cross_use_case_count: Count
    run_count: Count
    mode_counts: dict[str, Count]
    mode_acceptance_rates: dict[str, Share]
    cross_run_protocols: Count
    baseline_outcome: Share | None
    baseline_drift_risk: Share | None
    arbitration_decision_count: Count
    arbitration_selected_total: Count
    arbitration_blocked_total: Count
    arbitration_rejected_total: Count


class ArbitrationSums(ResponseModel):
    decision_count: Count
    candidate_total: Count
    selected_total: Count
    blocked_total: Count
    rejected_total: Count
    avg_selected_per_decision: float
    selection_rate: float
    block_reason_counts: dict[str, Count]
    reject_reason_counts: dict[str, Count]


class TransferArbitration(ResponseModel):
    summary: ArbitrationSums
    decisions: list[DecisionRow]


class LineageSummary(ResponseModel):
    source: Literal["views"]
    filters: SummaryFilters
    summary: SummaryCounts
    protocols: list[MarkedProtocol]
    transfer_quality: list[RatedQuality]
    drift_correlation: list[CorrelationRow]
    propagation: list[PropagationRow]
    protocol_effectiveness: list[RatedEffectiveness]
    transfer_arbitration: TransferArbitration
    correlation: Correlation


class TeachingRow(ResponseModel):
    from_swarm: str
    to_swarm: str
    protocol_id: str
    accepted: Count
    rejected: Count
    last_generation: int
    last_at: Time


class Teachings(ResponseModel):
    items: list[TeachingRow]
    next: str | None


class GenerationRow(ResponseModel):
    """The transfers up to the generation, with what is known now of their tasks."""

    protocol_id: str
    generation: int
    transfers: Count
    accepted: Count
    avg_outcome: Share | None
    avg_drift_risk: Share | None
    effectiveness_score: Share


class Generations(ResponseModel):
    items: list[GenerationRow]
    next: str | None
