"""`packet-lineage-summary`: the five queries and what they come to."""

from __future__ import annotations

from fractions import Fraction

from schemas import decode, to_json
from schemas.formats import iso_ms
from schemas.projection import Projection
from streams.protocols.apc.lineage.effectiveness import acceptance_rate, measure
from streams.protocols.apc.queries.lineage import queries
from streams.protocols.apc.queries.lineage.pairs import correlation
from streams.protocols.apc.queries.lineage.queries import Json, Named
from streams.protocols.apc.queries.lineage.sums import (
    Sums,
    SumsIndex,
    add_up_packets,
    round_number,
    weighted_mean,
)
from streams.protocols.apc.queries.lineage.universe import Arbitrations, UniverseRows
from streams.views.keys import key
from topology.apc import APC_DECISIONS, APC_LINEAGE

_BLOCKED = Projection(APC_LINEAGE.record or "", ("blocked", "blocked_since"))


def summary(universe: UniverseRows, protocol_id: str | None, limit: int, filters: Json) -> Json:
    """Return the summary; counts are over all packets that match, lists hold at most `limit` rows.

    protocol_id narrows the protocols, their packets and their counts, and nothing else.
    """
    everyone = universe.protocols()
    protocols = everyone if protocol_id is None else universe.protocol(protocol_id)
    baselines = Baselines(everyone)
    arbitrations = universe.arbitrations()
    quality = [_add_rate(row) for row in queries.transfer_quality(universe)]
    return {
        "source": "views",
        "filters": filters,
        "summary": {
            **_counts(universe, protocols, protocol_id),
            "mode_acceptance_rates": {r["transfer_mode"]: r["acceptance_rate"] for r in quality},
            "baseline_outcome": _round(baselines.outcome),
            "baseline_drift_risk": _round(baselines.drift_risk),
            "arbitration_decision_count": arbitrations.decision_count,
            "arbitration_selected_total": arbitrations.selected_total,
            "arbitration_blocked_total": arbitrations.blocked_total,
            "arbitration_rejected_total": arbitrations.rejected_total,
        },
        "protocols": _mark(universe, queries.protocols(universe, protocols, limit)),
        "transfer_quality": quality,
        "drift_correlation": queries.eval_correlation(universe),
        "propagation": queries.propagation(universe, protocol_id, limit),
        "protocol_effectiveness": _mark(
            universe,
            [
                effectiveness_row(universe.name_of(row_key), sums, baselines)
                for row_key, sums in queries.by_score(protocols, limit)
            ],
        ),
        "transfer_arbitration": {
            "summary": arbitration_summary(arbitrations),
            "decisions": [
                to_json(APC_DECISIONS.record or "", decode(row, APC_DECISIONS.record or "").value)
                for row in universe.decisions(limit)
            ],
        },
        "correlation": correlation(universe.pairs()),
    }


def _mark(universe: UniverseRows, rows: list[Json]) -> list[Json]:
    """Return the rows of protocols with whether they are blocked now, and since when."""
    totals = universe.store.get_many([key("protocol", row["protocol_id"]) for row in rows])
    return [{**row, **_blocked(total)} for row, total in zip(rows, totals, strict=True)]


def _blocked(total: bytes | None) -> Json:
    if total is None:
        return {"blocked": False, "blocked_since": None}
    members = _BLOCKED.of(total)
    since = members["blocked_since"]
    return {
        "blocked": members["blocked"],
        "blocked_since": None if since is None else iso_ms(since),
    }


class Baselines:
    """Mean outcome and drift risk over the protocols that have both, weighed by their tasks."""

    def __init__(self, protocols: list[Named]) -> None:
        both = [
            figures[SumsIndex.TRANSFER_TASKS :]
            for _, figures in protocols
            if figures[SumsIndex.OUTCOME_WEIGHT] and figures[SumsIndex.DRIFT_WEIGHT]
        ]
        self.outcome = weighted_mean((tasks, total, n) for tasks, n, total, _, _ in both)
        self.drift_risk = weighted_mean((tasks, total, n) for tasks, _, _, n, total in both)


def effectiveness_row(protocol_id: str, sums: Sums, baselines: Baselines) -> Json:
    exact = measure(sums._asdict())
    return {
        **queries.effectiveness_row(protocol_id, sums),
        "acceptance_rate": round_number(exact.acceptance_rate),
        "outcome_lift": _difference(exact.avg_outcome, baselines.outcome),
        "drift_risk_delta": _difference(exact.avg_drift_risk, baselines.drift_risk),
        "effectiveness_score": round_number(exact.score),
    }


def _difference(value: Fraction | None, baseline: Fraction | None) -> float | int | None:
    return None if value is None or baseline is None else round_number(value - baseline)


def _round(exact: Fraction | None) -> float | int | None:
    return None if exact is None else round_number(exact)


def _counts(universe: UniverseRows, protocols: list[Named], protocol_id: str | None) -> Json:
    figures = [figures for _, figures in protocols]
    together = add_up_packets(figures)
    of_one = sum(each[SumsIndex.RUNS] for each in figures)
    return {
        "protocol_count": sum(each[SumsIndex.PACKETS] > 0 for each in figures),
        "transfer_count": together.packets,
        "cross_use_case_count": together.cross,
        "run_count": universe.totals().runs if protocol_id is None else of_one,
        "mode_counts": dict(sorted(together.by_mode.items())),
        "cross_run_protocols": sum(each[SumsIndex.RUNS] > 1 for each in figures),
    }


def _add_rate(row: Json) -> Json:
    rate = acceptance_rate(row["total_count"], row["accepted_count"])
    return {**row, "acceptance_rate": round_number(rate)}


def arbitration_summary(sums: Arbitrations) -> Json:
    decided, selected = sums.decision_count, sums.selected_total
    candidates = sums.candidate_total
    return {
        "decision_count": decided,
        "candidate_total": candidates,
        "selected_total": selected,
        "blocked_total": sums.blocked_total,
        "rejected_total": sums.rejected_total,
        "avg_selected_per_decision": round_number(Fraction(selected, decided)) if decided else 0,
        "selection_rate": round_number(Fraction(selected, candidates)) if candidates else 0,
        "block_reason_counts": sums.block_reason_counts,
        "reject_reason_counts": sums.reject_reason_counts,
    }
