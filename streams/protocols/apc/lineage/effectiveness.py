"""The effectiveness of a protocol, and whether it has decayed; the one definition for all callers.

    acceptance_rate = accepted ÷ transfers
    score = 0.5 × acceptance_rate + 0.35 × O + 0.15 × (1 − D)

O is the mean outcome of the tasks that the protocol was transferred in, D their mean drift risk,
each task weighted by its transfers.  Without an outcome O is 0; without a drift D is 1, while a
measured drift of 0 is 0.  All arithmetic and comparisons use exact fractions; only displayed
values are rounded.

`sums` is a row of protocol lineage (`headrace.apc.ApcLineage`), or any mapping with its members
transfers, accepted, outcome_weight, outcome_sum_nano, drift_weight and drift_sum_nano: integers,
the two sums in units of 10⁻⁹.  `settings` is `ProcessorContext.settings`, or any mapping with the
names below to a Decimal, int or decimal text; a float would bring its binary digits with it.

| setting | effect |
|---|---|
| APC_DECAY_MIN_SAMPLES | a protocol with fewer transfers has not decayed |
| APC_DECAY_MIN_SCORE | a protocol with a lower score has decayed |
| APC_DECAY_MAX_DRIFT | a protocol with a higher D has decayed |
| APC_GATE_MIN_SAMPLES | a protocol with fewer transfers passes the gate of arbitrations |
| APC_GATE_MIN_SCORE | a protocol with a lower score fails that gate |

A protocol is blocked for as long as its sums say so: better sums unblock it.  The total row is
evaluated after every delta and remembers only since when the protocol is blocked.  A change of
that is a decision; a change of the reasons while the protocol stays blocked is not.

Source: APC guide, 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from streams.engine.processor import AvroValue

BELOW_THRESHOLD = "effectiveness_below_threshold"
DRIFT_ABOVE = "drift_above_threshold"
DRIFT_UNMEASURED = "drift_unmeasured"

_NANO = 10**9
_SIX_PLACES = 10**6
_ACCEPTANCE_WEIGHT = Fraction("0.5")
_OUTCOME_WEIGHT = Fraction("0.35")
_DRIFT_WEIGHT = Fraction("0.15")
_WORST_DRIFT = Fraction(1)


def acceptance_rate(transfers: int, accepted: int) -> Fraction:
    """Return accepted ÷ transfers, 0 without transfers."""
    return Fraction(accepted, transfers) if transfers > 0 else Fraction(0)


def mean(sum_nano: int, weight: int) -> Fraction | None:
    """Return the mean, None without weight.  sum_nano is in units of 10⁻⁹, the mean is not."""
    return Fraction(sum_nano, weight * _NANO) if weight > 0 else None


def drift_used(drift_weight: int, drift_sum_nano: int) -> Fraction:
    """Return D: the mean drift risk, or the worst possible if none was measured."""
    measured = mean(drift_sum_nano, drift_weight)
    return _WORST_DRIFT if measured is None else measured


def score(
    transfers: int,
    accepted: int,
    outcome_weight: int,
    outcome_sum_nano: int,
    drift_weight: int,
    drift_sum_nano: int,
) -> Fraction:
    """Return the effectiveness score; 0…1 for sums that packets can have."""
    return _weighted_score(
        acceptance_rate(transfers, accepted),
        mean(outcome_sum_nano, outcome_weight),
        drift_used(drift_weight, drift_sum_nano),
    )


def _weighted_score(rate: Fraction, outcome: Fraction | None, drift: Fraction) -> Fraction:
    without_outcome = _ACCEPTANCE_WEIGHT * rate + _DRIFT_WEIGHT * (1 - drift)
    return without_outcome + _OUTCOME_WEIGHT * outcome if outcome else without_outcome


class Measurements(NamedTuple):
    """The exact measurements that follow from the sums of a protocol.

    avg_outcome, avg_drift_risk: None where no evaluation gave one.  drift_used: D.
    """

    acceptance_rate: Fraction
    avg_outcome: Fraction | None
    avg_drift_risk: Fraction | None
    drift_used: Fraction
    score: Fraction


def measure(sums: Mapping[str, Any]) -> Measurements:
    rate = acceptance_rate(sums["transfers"], sums["accepted"])
    outcome = mean(sums["outcome_sum_nano"], sums["outcome_weight"])
    measured = mean(sums["drift_sum_nano"], sums["drift_weight"])
    drift = _WORST_DRIFT if measured is None else measured
    return Measurements(rate, outcome, measured, drift, _weighted_score(rate, outcome, drift))


def score_of(sums: Mapping[str, Any]) -> Fraction:
    return score(
        sums["transfers"],
        sums["accepted"],
        sums["outcome_weight"],
        sums["outcome_sum_nano"],
        sums["drift_weight"],
        sums["drift_sum_nano"],
    )


def round_figure(number: Fraction) -> float:
    """Round half-even to 6 places, as facts, rows and responses show the number."""
    whole, remainder = divmod(number.numerator * _SIX_PLACES, number.denominator)
    half = 2 * remainder - number.denominator
    up = half > 0 or (half == 0 and whole % 2 == 1)
    return (whole + up) / _SIX_PLACES


def blocked_reasons(sums: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the codes of why the protocol has decayed, in order; empty if it has not."""
    if sums["transfers"] < settings["APC_DECAY_MIN_SAMPLES"]:
        return []
    reasons = []
    if score_of(sums) < Fraction(settings["APC_DECAY_MIN_SCORE"]):
        reasons.append(BELOW_THRESHOLD)
    drift = drift_used(sums["drift_weight"], sums["drift_sum_nano"])
    if drift > Fraction(settings["APC_DECAY_MAX_DRIFT"]):
        reasons.append(DRIFT_ABOVE if sums["drift_weight"] > 0 else DRIFT_UNMEASURED)
    return reasons


def gate_fails(sums: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return whether the effectiveness gate of arbitrations excludes the protocol."""
    if sums["transfers"] < settings["APC_GATE_MIN_SAMPLES"]:
        return False
    return score_of(sums) < Fraction(settings["APC_GATE_MIN_SCORE"])


def update_decay(row: AvroValue, at: int, settings: Mapping[str, Any]) -> AvroValue:
    """Return the total row with its decay evaluated anew.  at: time of the delta, ms."""
    reasons = blocked_reasons(row, settings)
    since = row["blocked_since"] if row["blocked"] else at
    return row | {
        "blocked": bool(reasons),
        "blocked_reasons": reasons,
        "blocked_since": since if reasons else None,
    }


def decay_decision(
    row: AvroValue, delta: Mapping[str, Any], cause: str, settings: Mapping[str, Any]
) -> AvroValue:
    """Return the ApcDecision that a protocol is now blocked, or no longer is.

    row: the evaluated total row.  delta: the one that changed it.  cause: position of the delta.
    """
    return {
        "decision_id": f"{delta['delta_id']}/decay",
        "kind": "decay",
        "protocol_id": row["protocol_id"],
        "at": delta["at"],
        "cause": cause,
        "decay": {
            "blocked": row["blocked"],
            "reasons": row["blocked_reasons"],
            "transfer_count": row["transfers"],
            "accepted_count": row["accepted"],
            "effectiveness_score": row["effectiveness_score"],
            "score_threshold": float(settings["APC_DECAY_MIN_SCORE"]),
            "avg_drift_risk": row["avg_drift_risk"],
            "drift_used": round_figure(drift_used(row["drift_weight"], row["drift_sum_nano"])),
            "drift_threshold": float(settings["APC_DECAY_MAX_DRIFT"]),
            "lineage_version": row["version"],
        },
        "arbitration": None,
    }
