"""The rows of priors, and what a reader makes of one.

A row is the sum of its deltas, whatever their order.  Sums are integers, so that a removal cancels
exactly what it removes.  A row whose sums are all 0 stays.

    S = outcome_sum_nano ÷ 10⁹       n = attempts
    α = the policy's alpha + S       mean = α ÷ (α + β)
    β = the policy's beta + n − S    sd = √(α · β ÷ ((α + β)² · (α + β + 1)))

Source: APC guide, 5.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.contributions import EVIDENCE

_NANO_PLACES = -9
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_SIX_PLACES = Decimal("0.000001")


def evolve_prior(row: AvroValue | None, delta: Mapping[str, Any]) -> AvroValue:
    """Return the row of the delta's strategy with the delta added (Avro values); `row` stays."""
    before = row or _new_row(delta)
    after = before | {name: before[name] + delta[name] for name in EVIDENCE}
    after["last_at"] = max(before["last_at"], delta["at"])
    after["version"] = before["version"] + 1
    return after


def _new_row(delta: Mapping[str, Any]) -> AvroValue:
    return {
        "use_case": delta["use_case"],
        "kind": delta["kind"],
        "strategy": delta["strategy"],
        **dict.fromkeys(EVIDENCE, 0),
        "last_at": delta["at"],
        "version": 0,
    }


class Belief(NamedTuple):
    """The Beta distribution of an outcome, as the evidence about a strategy makes it.

    alpha, beta: exact.  mean, sd: rounded half-even to 6 places.
    """

    alpha: Decimal
    beta: Decimal
    mean: Decimal
    sd: Decimal


def belief_of(row: Mapping[str, Any], alpha: Decimal, beta: Decimal) -> Belief:
    """Return the belief about a strategy.  alpha, beta: those of the policy, above 0."""
    sum_of_outcomes = Decimal(row["outcome_sum_nano"]).scaleb(_NANO_PLACES)
    a = _EXACT.add(alpha, sum_of_outcomes)
    b = _EXACT.add(beta, row["attempts"] - sum_of_outcomes)
    whole = _EXACT.add(a, b)
    mean = _EXACT.divide(a, whole)
    variance = _EXACT.divide(
        _EXACT.multiply(a, b),
        _EXACT.multiply(_EXACT.multiply(whole, whole), _EXACT.add(whole, Decimal(1))),
    )
    sd = _EXACT.sqrt(variance)
    return Belief(a, b, *(each.quantize(_SIX_PLACES, context=_EXACT) for each in (mean, sd)))


def decimal_text(number: Decimal) -> str:
    """Return a decimal in its shortest spelling without an exponent."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
