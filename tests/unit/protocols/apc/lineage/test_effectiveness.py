"""The score and its thresholds, at their bounds and against another way to compute them."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.apc.lineage.effectiveness import (
    BELOW_THRESHOLD,
    DRIFT_ABOVE,
    DRIFT_UNMEASURED,
    Measurements,
    acceptance_rate,
    blocked_reasons,
    gate_fails,
    measure,
    round_figure,
    score,
    score_of,
)
from streams.settings import Settings
from tests.unit.protocols.apc.lineage.support import NANO, sums

SETTINGS = Settings.load({}).as_work()


def measured(transfers: int, accepted: int, outcome: int, drift: int) -> dict[str, int]:
    """Sums of a protocol whose every transfer was evaluated.  outcome, drift: nanos, in total."""
    return sums(
        transfers=transfers,
        accepted=accepted,
        outcome_weight=transfers,
        outcome_sum_nano=outcome,
        drift_weight=transfers,
        drift_sum_nano=drift,
    )


def test_the_worked_example() -> None:
    assert score(8, 6, 5, 35 * NANO // 10, 5, NANO) == Fraction("0.74")
    assert score(8, 6, 8, 44 * NANO // 10, 5, NANO) == Fraction("0.6875")


def test_a_protocol_without_transfers_accepts_none() -> None:
    assert acceptance_rate(0, 0) == 0
    nothing = Measurements(Fraction(0), None, None, Fraction(1), Fraction(0))
    assert measure(sums()) == nothing


def test_without_an_outcome_it_counts_as_none_and_without_a_drift_as_the_worst() -> None:
    assert score(1, 1, 0, 0, 0, 0) == Fraction("0.5")
    assert measure(sums(transfers=1)).drift_used == 1
    assert measure(sums(transfers=1)).avg_drift_risk is None


def test_a_measured_drift_of_nothing_is_nothing() -> None:
    measurements = measure(sums(transfers=1, accepted=1, drift_weight=1))
    assert measurements == Measurements(
        Fraction(1), None, Fraction(0), Fraction(0), Fraction("0.65")
    )


def test_the_best_and_the_worst_need_no_clamping() -> None:
    assert score_of(measured(3, 3, 3 * NANO, 0)) == 1
    assert score_of(measured(3, 0, 0, 3 * NANO)) == 0


@pytest.mark.parametrize(
    ("transfers", "accepted", "outcome", "drift", "reasons"),
    [
        (10, 4, 0, 0, []),
        (10, 4, 0, 1, [BELOW_THRESHOLD]),
        (10, 4, 1, 0, []),
        (10, 3, 0, 0, [BELOW_THRESHOLD]),
        (10, 10, 10 * NANO, 75 * NANO // 10, []),
        (10, 10, 10 * NANO, 75 * NANO // 10 + 1, [DRIFT_ABOVE]),
        (10, 0, 0, 10 * NANO, [BELOW_THRESHOLD, DRIFT_ABOVE]),
        (5, 0, 0, 5 * NANO, [BELOW_THRESHOLD, DRIFT_ABOVE]),
        (4, 0, 0, 4 * NANO, []),
    ],
)
def test_decay_at_its_bounds(
    transfers: int, accepted: int, outcome: int, drift: int, reasons: list[str]
) -> None:
    assert blocked_reasons(measured(transfers, accepted, outcome, drift), SETTINGS) == reasons


def test_a_score_is_compared_before_it_is_rounded() -> None:
    just_below = measured(10, 4, 0, 1)
    assert round_figure(score_of(just_below)) == 0.35
    assert blocked_reasons(just_below, SETTINGS) == [BELOW_THRESHOLD]


def test_a_score_that_binary_numbers_put_below_its_bound_is_not() -> None:
    assert 0.5 * (3 / 5) + 0.35 * 0.4 + 0.15 * (1 - 0.6) < 0.5
    on_the_bound = measured(5, 3, 2 * NANO, 3 * NANO)
    assert score_of(on_the_bound) == Fraction("0.5")
    assert not gate_fails(on_the_bound, SETTINGS)
    half = {**SETTINGS, "APC_DECAY_MIN_SCORE": Decimal("0.5")}
    assert blocked_reasons(on_the_bound, half) == []


@pytest.mark.parametrize(
    ("accepted", "reasons"),
    [(5, [DRIFT_UNMEASURED]), (3, [BELOW_THRESHOLD, DRIFT_UNMEASURED]), (4, [DRIFT_UNMEASURED])],
)
def test_a_drift_that_nobody_measured_blocks(accepted: int, reasons: list[str]) -> None:
    assert blocked_reasons(sums(transfers=5, accepted=accepted), SETTINGS) == reasons


def test_a_drift_of_nothing_does_not_block() -> None:
    assert blocked_reasons(sums(transfers=5, accepted=5, drift_weight=1), SETTINGS) == []


@pytest.mark.parametrize(
    ("transfers", "accepted", "outcome", "drift", "fails"),
    [
        (10, 7, 0, 0, False),
        (10, 7, 0, 1, True),
        (10, 7, 1, 0, False),
        (10, 10, 0, 10 * NANO, False),
        (10, 9, 0, 10 * NANO, True),
        (3, 0, 0, 0, True),
        (2, 0, 0, 0, False),
    ],
)
def test_the_gate_at_its_bounds(
    transfers: int, accepted: int, outcome: int, drift: int, fails: bool
) -> None:
    assert gate_fails(measured(transfers, accepted, outcome, drift), SETTINGS) is fails


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("APC_DECAY_MIN_SAMPLES", 11),
        ("APC_DECAY_MIN_SCORE", Decimal("0.15")),
        ("APC_DECAY_MIN_SCORE", 0),
    ],
)
def test_decay_follows_its_settings(setting: str, value: Any) -> None:
    row = measured(10, 0, 0, 0)
    assert blocked_reasons(row, SETTINGS) == [BELOW_THRESHOLD]
    assert blocked_reasons(row, {**SETTINGS, setting: value}) == []


def test_the_drift_bound_follows_its_setting() -> None:
    row = measured(10, 10, 0, 8 * NANO)
    assert blocked_reasons(row, SETTINGS) == [DRIFT_ABOVE]
    assert blocked_reasons(row, {**SETTINGS, "APC_DECAY_MAX_DRIFT": Decimal("0.8")}) == []


def test_the_gate_follows_its_settings() -> None:
    row = measured(10, 6, 0, 0)
    assert gate_fails(row, SETTINGS)
    assert not gate_fails(row, {**SETTINGS, "APC_GATE_MIN_SAMPLES": 11})
    assert not gate_fails(row, {**SETTINGS, "APC_GATE_MIN_SCORE": Decimal("0.45")})


SHARES = st.integers(0, NANO)
TRANSFERS = st.lists(
    st.tuples(st.booleans(), st.none() | SHARES, st.none() | SHARES), min_size=1, max_size=40
)
"""Per transfer: whether it was accepted, and the means of its task, in nanos."""


@given(TRANSFERS)
def test_the_score_is_that_of_its_transfers_one_by_one(
    transfers: list[tuple[bool, int | None, int | None]],
) -> None:
    row = of_transfers(transfers)
    outcomes = [Fraction(o, NANO) for _, o, _ in transfers if o is not None]
    drifts = [Fraction(d, NANO) for _, _, d in transfers if d is not None]
    outcome = sum(outcomes) / Fraction(len(outcomes)) if outcomes else Fraction(0)
    drift = sum(drifts) / Fraction(len(drifts)) if drifts else Fraction(1)
    accepted = Fraction(sum(a for a, _, _ in transfers), len(transfers))
    expected = (10 * accepted + 7 * outcome + 3 * (1 - drift)) / 20
    assert score_of(row) == expected
    assert 0 <= expected <= 1
    assert blocked_reasons(row, SETTINGS) == expected_reasons(len(transfers), expected, drifts)
    assert gate_fails(row, SETTINGS) is (len(transfers) >= 3 and expected * 2 < 1)


def expected_reasons(transfers: int, expected: Fraction, drifts: list[Fraction]) -> list[str]:
    high = sum(drifts) * 4 > 3 * len(drifts)
    drift = DRIFT_ABOVE if high else "" if drifts else DRIFT_UNMEASURED
    reasons = [BELOW_THRESHOLD if expected * 20 < 7 else "", drift]
    return [reason for reason in reasons if reason and transfers >= 5]


def of_transfers(transfers: list[tuple[bool, int | None, int | None]]) -> dict[str, int]:
    outcomes = [outcome for _, outcome, _ in transfers if outcome is not None]
    drifts = [drift for _, _, drift in transfers if drift is not None]
    return sums(
        transfers=len(transfers),
        accepted=sum(accepted for accepted, _, _ in transfers),
        outcome_weight=len(outcomes),
        outcome_sum_nano=sum(outcomes),
        drift_weight=len(drifts),
        drift_sum_nano=sum(drifts),
    )


@given(st.fractions(0, 1, max_denominator=10**12))
def test_numbers_are_shown_with_six_places(number: Fraction) -> None:
    with localcontext(prec=60):
        decimal = Decimal(number.numerator) / Decimal(number.denominator)
        assert round_figure(number) == float(decimal.quantize(Decimal("1e-6"), ROUND_HALF_EVEN))


@pytest.mark.parametrize(
    ("number", "six"), [("0.0000005", 0.0), ("0.0000015", 0.000002), ("0.6875", 0.6875)]
)
def test_ties_are_rounded_to_even(number: str, six: float) -> None:
    assert round_figure(Fraction(number)) == six
