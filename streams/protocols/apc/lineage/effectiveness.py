"""How well a protocol does, and whether it has decayed: one definition for all who ask.

    acceptance_rate = accepted ÷ transfers
    score = 0.5 × acceptance_rate + 0.35 × O + 0.15 × (1 − D)

O is the mean outcome of the tasks that the protocol was transferred in, D their mean drift risk,
each task weighed by its transfers.  Without an outcome O is 0; without a drift D is 1, while a
measured drift of 0 is 0.  Everything is computed and compared as exact fractions; only what is
shown is rounded.

`sums` is a row of protocol lineage (`headrace.apc.ApcLineage`), or any mapping with its members
transfers, accepted, outcome_weight, outcome_sum_nano, drift_weight and drift_sum_nano: integers,
the two sums in units of 10⁻⁹.  `settings` is `Work.settings`, or any mapping with the names below
to a Decimal, int or decimal text; a float would bring its binary digits with it.

| setting | a protocol |
|---|---|
| APC_DECAY_MIN_SAMPLES | of fewer transfers has not decayed |
| APC_DECAY_MIN_SCORE | of a lower score has decayed |
| APC_DECAY_MAX_DRIFT | of a higher D has decayed |
| APC_GATE_MIN_SAMPLES | of fewer transfers does not fail the gate of arbitrations |
| APC_GATE_MIN_SCORE | of a lower score fails it |

A protocol is blocked for as long as its figures say so: better figures unblock it.  The total row
is judged after every delta and remembers nothing but since when the protocol is blocked.  A change
is a decision; while it stays blocked, other reasons are none.

Source: APC spec, 5.7.
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
_OF_ACCEPTANCE = Fraction("0.5")
_OF_OUTCOME = Fraction("0.35")
_OF_DRIFT = Fraction("0.15")
_WORST_DRIFT = Fraction(1)


def acceptance_rate(transfers: int, accepted: int) -> Fraction:
    """0 without transfers."""
    return Fraction(accepted, transfers) if transfers > 0 else Fraction(0)


def mean(sum_nano: int, weight: int) -> Fraction | None:
    """None without weight.  sum_nano is in units of 10⁻⁹, the mean is not."""
    return Fraction(sum_nano, weight * _NANO) if weight > 0 else None


def drift_used(drift_weight: int, drift_sum_nano: int) -> Fraction:
    """D: the mean drift risk, the worst possible where none was measured."""
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
    """The effectiveness score; 0…1 for sums that packets can have."""
    return _weighed(
        acceptance_rate(transfers, accepted),
        mean(outcome_sum_nano, outcome_weight),
        drift_used(drift_weight, drift_sum_nano),
    )


def _weighed(rate: Fraction, outcome: Fraction | None, drift: Fraction) -> Fraction:
    without_outcome = _OF_ACCEPTANCE * rate + _OF_DRIFT * (1 - drift)
    return without_outcome + _OF_OUTCOME * outcome if outcome else without_outcome


class Figures(NamedTuple):
    """What the sums of a protocol say, exactly.

    avg_outcome, avg_drift_risk: None where no evaluation gave one.  drift_used: D.
    """

    acceptance_rate: Fraction
    avg_outcome: Fraction | None
    avg_drift_risk: Fraction | None
    drift_used: Fraction
    score: Fraction


def figures(sums: Mapping[str, Any]) -> Figures:
    rate = acceptance_rate(sums["transfers"], sums["accepted"])
    outcome = mean(sums["outcome_sum_nano"], sums["outcome_weight"])
    measured = mean(sums["drift_sum_nano"], sums["drift_weight"])
    drift = _WORST_DRIFT if measured is None else measured
    return Figures(rate, outcome, measured, drift, _weighed(rate, outcome, drift))


def score_of(sums: Mapping[str, Any]) -> Fraction:
    return score(
        sums["transfers"],
        sums["accepted"],
        sums["outcome_weight"],
        sums["outcome_sum_nano"],
        sums["drift_weight"],
        sums["drift_sum_nano"],
    )


def shown(number: Fraction) -> float:
    """As facts, rows and answers show it: rounded half-even to 6 places."""
    whole, rest = divmod(number.numerator * _SIX_PLACES, number.denominator)
    half = 2 * rest - number.denominator
    up = half > 0 or (half == 0 and whole % 2 == 1)
    return (whole + up) / _SIX_PLACES


def blocked_reasons(sums: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Why the protocol has decayed: codes in their order, none if it has not."""
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
    """Whether the effectiveness gate of arbitrations keeps the protocol out."""
    if sums["transfers"] < settings["APC_GATE_MIN_SAMPLES"]:
        return False
    return score_of(sums) < Fraction(settings["APC_GATE_MIN_SCORE"])


def judge_decay(row: AvroValue, at: int, settings: Mapping[str, Any]) -> AvroValue:
    """The total row, and whether it is blocked now; `row` says whether it was.  at: now, in ms."""
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
    """The ApcDecision that a protocol is now blocked, or no longer is.

    row: the judged total row.  delta: the one that changed it.  cause: position of the delta.
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
            "drift_used": shown(drift_used(row["drift_weight"], row["drift_sum_nano"])),
            "drift_threshold": float(settings["APC_DECAY_MAX_DRIFT"]),
            "lineage_version": row["version"],
        },
        "arbitration": None,
    }
