"""What the deltas make of a protocol, one by one: its rows, and when it decayed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from tests.e2e.outputs import Json
from tests.e2e.transfers import six
from tests.unit.protocols.apc.processor.sums import NAMES
from topology.keys import composite

MIN_SAMPLES = 5
MIN_SCORE, MAX_DRIFT = Fraction("0.35"), Fraction("0.75")
GATE_SAMPLES, GATE_SCORE = 3, Fraction("0.5")
NANO = 10**9


class Figures(NamedTuple):
    """Of sums, exactly.  drift: None where none was measured."""

    rate: Fraction
    outcome: Fraction | None
    drift: Fraction | None

    @property
    def drift_used(self) -> Fraction:
        return Fraction(1) if self.drift is None else self.drift

    @property
    def score(self) -> Fraction:
        quality = Fraction(35, 100) * (self.outcome or 0)
        return self.rate / 2 + quality + Fraction(15, 100) * (1 - self.drift_used)


def figures(row: Json) -> Figures:
    return Figures(
        Fraction(row["accepted"], row["transfers"]) if row["transfers"] else Fraction(0),
        _mean(row["outcome_sum_nano"], row["outcome_weight"]),
        _mean(row["drift_sum_nano"], row["drift_weight"]),
    )


def _mean(total: int, weight: int) -> Fraction | None:
    return Fraction(total, weight * NANO) if weight else None


def reasons(row: Json) -> list[str]:
    """Why the protocol has decayed."""
    if row["transfers"] < MIN_SAMPLES:
        return []
    measures = figures(row)
    codes = ["effectiveness_below_threshold"] if measures.score < MIN_SCORE else []
    if measures.drift_used > MAX_DRIFT:
        codes.append("drift_unmeasured" if measures.drift is None else "drift_above_threshold")
    return codes


def gate_reason(row: Json) -> str | None:
    """Why the gate of arbitrations keeps the protocol out, as its reason ends."""
    score = figures(row).score
    failed = row["transfers"] >= GATE_SAMPLES and score < GATE_SCORE
    return f"{float(round(score, 3)):.3f}" if failed else None


class Totals:
    """rows: by key.  versions: the total rows of a protocol, one after each of its deltas.
    decisions: those of decay, in order.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Json] = {}
        self.versions: dict[str, list[Json]] = {}
        self.decisions: list[Json] = []

    def run(self, deltas: Mapping[str, Json]) -> None:
        """deltas: by position, in log order by partition."""
        for position, delta in deltas.items():
            if delta["decision"] is None:
                self._add(position, delta)

    def _add(self, position: str, delta: Json) -> None:
        protocol, run_id = delta["protocol_id"], delta["run_id"]
        run = _grown(self.rows.get(composite(protocol, run_id)), delta, run_id)
        run["run_count"] = int(run["transfers"] > 0)
        self.rows[composite(protocol, run_id)] = run
        before = self.rows.get(composite(protocol))
        total = _grown(before, delta, None)
        parts = [row for row in self.rows.values() if row["protocol_id"] == protocol]
        total["run_count"] = sum(row["run_count"] for row in parts if row["run_id"] is not None)
        why, was = reasons(total), before is not None and before["blocked"]
        total |= {"blocked": bool(why), "blocked_reasons": why}
        if not (why and was):
            total["blocked_since"] = delta["at"] if why else None
        self.rows[composite(protocol)] = total
        self.versions.setdefault(protocol, []).append(total)
        if was is not bool(why):
            self.decisions.append(_decay(position, delta, total))


def _grown(before: Json | None, delta: Json, run_id: str | None) -> Json:
    first: Json = {
        "protocol_id": delta["protocol_id"],
        "run_id": run_id,
        **dict.fromkeys(NAMES, 0),
        "run_count": 0,
        "blocked": False,
        "blocked_reasons": [],
        "blocked_since": None,
        "last_seen_at": None,
        "version": 0,
    }
    row = {**(before or first)}
    for name in NAMES:
        row[name] += delta[name]
    row["version"] += 1
    if delta["packets"] > 0:
        row["last_seen_at"] = max(row["last_seen_at"] or "", delta["at"])
    measures = figures(row)
    return row | {
        "acceptance_rate": six(measures.rate),
        "avg_outcome": None if measures.outcome is None else six(measures.outcome),
        "avg_drift_risk": None if measures.drift is None else six(measures.drift),
        "effectiveness_score": six(measures.score),
    }


def _decay(position: str, delta: Json, total: Json) -> Json:
    measures = figures(total)
    return {
        "decision_id": f"{delta['delta_id']}/decay",
        "kind": "decay",
        "protocol_id": delta["protocol_id"],
        "at": delta["at"],
        "cause": position,
        "decay": {
            "blocked": total["blocked"],
            "reasons": total["blocked_reasons"],
            "transfer_count": total["transfers"],
            "accepted_count": total["accepted"],
            "effectiveness_score": six(measures.score),
            "score_threshold": float(MIN_SCORE),
            "avg_drift_risk": total["avg_drift_risk"],
            "drift_used": six(measures.drift_used),
            "drift_threshold": float(MAX_DRIFT),
            "lineage_version": total["version"],
        },
        "arbitration": None,
    }
