"""`packet-lineage-summary`: the five queries and what they come to."""

from __future__ import annotations

from fractions import Fraction

from schemas import decode, to_json
from streams.protocols.apc.lineage.effectiveness import acceptance_rate, figures
from streams.protocols.apc.queries.lineage import queries
from streams.protocols.apc.queries.lineage.arbitrations import Arbitrations
from streams.protocols.apc.queries.lineage.exact import shown, weighted_mean
from streams.protocols.apc.queries.lineage.queries import Json, Named
from streams.protocols.apc.queries.lineage.sums import At, Sums, borne_by_all
from streams.protocols.apc.queries.lineage.universe import Found
from topology.apc import APC_DECISIONS


def summary(found: Found, protocol_id: str | None, limit: int, filters: Json) -> Json:
    """Counts are over all packets that fit; lists hold at most `limit` rows.

    protocol_id narrows the protocols, their packets and their counts, and nothing else.
    """
    everyone = found.protocols()
    protocols = everyone if protocol_id is None else found.protocol(protocol_id)
    baselines = Baselines(everyone)
    arbitrations = found.arbitrations()
    quality = [_with_rate(row) for row in queries.transfer_quality(found)]
    return {
        "source": "views",
        "filters": filters,
        "summary": {
            **_counts(found, protocols, protocol_id),
            "mode_acceptance_rates": {r["transfer_mode"]: r["acceptance_rate"] for r in quality},
            "baseline_outcome": _shown(baselines.outcome),
            "baseline_drift_risk": _shown(baselines.drift_risk),
            "arbitration_decision_count": arbitrations.decision_count,
            "arbitration_selected_total": arbitrations.selected_total,
            "arbitration_blocked_total": arbitrations.blocked_total,
            "arbitration_rejected_total": arbitrations.rejected_total,
        },
        "protocols": queries.protocols(found, protocols, limit),
        "transfer_quality": quality,
        "drift_correlation": queries.eval_correlation(found),
        "propagation": queries.propagation(found, protocol_id, limit),
        "protocol_effectiveness": [
            effectiveness_row(found.name_of(row_key), sums, baselines)
            for row_key, sums in queries.by_score(protocols, limit)
        ],
        "transfer_arbitration": {
            "summary": arbitration_summary(arbitrations),
            "decisions": [
                to_json(APC_DECISIONS.record or "", decode(row, APC_DECISIONS.record or "").value)
                for row in found.decisions(limit)
            ],
        },
    }


class Baselines:
    """Mean outcome and drift risk over the protocols that have both, weighed by their tasks."""

    def __init__(self, protocols: list[Named]) -> None:
        both = [
            figures[At.TRANSFER_TASKS :]
            for _, figures in protocols
            if figures[At.OUTCOME_WEIGHT] and figures[At.DRIFT_WEIGHT]
        ]
        self.outcome = weighted_mean((tasks, total, n) for tasks, n, total, _, _ in both)
        self.drift_risk = weighted_mean((tasks, total, n) for tasks, _, _, n, total in both)


def effectiveness_row(protocol_id: str, sums: Sums, baselines: Baselines) -> Json:
    exact = figures(sums._asdict())
    return {
        **queries.effectiveness_row(protocol_id, sums),
        "acceptance_rate": shown(exact.acceptance_rate),
        "outcome_lift": _above(exact.avg_outcome, baselines.outcome),
        "drift_risk_delta": _above(exact.avg_drift_risk, baselines.drift_risk),
        "effectiveness_score": shown(exact.score),
    }


def _above(own: Fraction | None, baseline: Fraction | None) -> float | int | None:
    return None if own is None or baseline is None else shown(own - baseline)


def _shown(exact: Fraction | None) -> float | int | None:
    return None if exact is None else shown(exact)


def _counts(found: Found, protocols: list[Named], protocol_id: str | None) -> Json:
    figures = [figures for _, figures in protocols]
    together = borne_by_all(figures)
    of_one = sum(each[At.RUNS] for each in figures)
    return {
        "protocol_count": sum(each[At.PACKETS] > 0 for each in figures),
        "transfer_count": together.packets,
        "cross_use_case_count": together.cross,
        "run_count": found.totals().runs if protocol_id is None else of_one,
        "mode_counts": dict(sorted(together.by_mode.items())),
        "cross_run_protocols": sum(each[At.RUNS] > 1 for each in figures),
    }


def _with_rate(row: Json) -> Json:
    rate = acceptance_rate(row["total_count"], row["accepted_count"])
    return {**row, "acceptance_rate": shown(rate)}


def arbitration_summary(sums: Arbitrations) -> Json:
    decided, selected = sums.decision_count, sums.selected_total
    candidates = sums.candidate_total
    return {
        "decision_count": decided,
        "candidate_total": candidates,
        "selected_total": selected,
        "blocked_total": sums.blocked_total,
        "rejected_total": sums.rejected_total,
        "avg_selected_per_decision": shown(Fraction(selected, decided)) if decided else 0,
        "selection_rate": shown(Fraction(selected, candidates)) if candidates else 0,
        "block_reason_counts": sums.block_reason_counts,
        "reject_reason_counts": sums.reject_reason_counts,
    }
