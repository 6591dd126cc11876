"""Money, metrics, time and verification (Summit guide, 1, 2.3, 2.5, 9.2)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import summit
from schemas.summit.results import money
from schemas.summit.words import FAILED, FLAGGED, PASSED, VERIFICATION_STATUSES

MONEY = st.floats(0, 1_000_000)
METRICS = st.fixed_dictionaries({"tokens": st.integers(0, 2**53 - 1), "cost_usd": MONEY})


@pytest.mark.parametrize(
    ("usd", "cost", "over_budget"),
    [
        (1.25, 0.75, False),
        (1.25, 1.25, False),
        (1.25, 1.2500000004, False),
        (1.25, 1.2500000005, False),  # half to even: 1.250000000
        (1.25, 1.2500000006, True),
        (1.25, 1.31, True),
        (0.3, 0.1 + 0.1 + 0.1, False),
        (0, 0, False),
        (0, 5e-10, False),
        (0, 1e-9, True),
        (1e-9, 1.5e-9, True),  # half to even: 2e-9
        (1_000_000, 1_000_000, False),
    ],
)
def test_money_is_compared_at_nine_places(usd: float, cost: float, over_budget: bool) -> None:
    rule = summit.broken_budget({"usd": usd}, {"tokens": 0, "cost_usd": cost})
    assert rule == ("budget.usd" if over_budget else None)


@given(MONEY)
def test_money_is_rounded_half_even(usd: float) -> None:
    exact = Fraction(Decimal(repr(usd))) * 10**9
    assert money(usd) * 10**9 == round(exact)


def test_dollars_come_before_tokens_and_what_is_absent_is_not_limited() -> None:
    metrics = {"tokens": 11, "cost_usd": 2.0}
    assert summit.broken_budget({"usd": 1, "tokens": 10}, metrics) == "budget.usd"
    assert summit.broken_budget({"usd": None, "tokens": 10}, metrics) == "budget.tokens"
    assert summit.broken_budget({"tokens": 11}, metrics) is None
    assert summit.broken_budget({"seconds": 1}, metrics) is None
    assert summit.broken_budget(None, metrics) is None


@pytest.mark.parametrize(
    ("budget", "there"),
    [
        (None, False),
        ({}, False),
        ({"seconds": 1}, False),
        ({"usd": 0}, True),
        ({"tokens": 0, "usd": None}, True),
    ],
)
def test_seconds_alone_are_no_budget(budget: Any, there: bool) -> None:
    assert summit.has_budget(budget) is there


@given(METRICS, METRICS)
def test_effective_metrics_never_go_down(reply: dict[str, Any], row: dict[str, Any]) -> None:
    metrics = summit.effective_metrics(reply, row)
    for name in ("tokens", "cost_usd"):
        assert metrics[name] == max(reply[name], row[name])
    assert (
        summit.effective_metrics(metrics, row) == summit.effective_metrics(None, metrics) == metrics
    )


def test_latency_is_what_was_said_last() -> None:
    zero = {"tokens": 0, "cost_usd": 0}
    assert summit.effective_metrics(None, None) == zero
    row = {**zero, "latency_ms": 9}
    assert summit.effective_metrics({**zero, "latency_ms": 3}, row)["latency_ms"] == 3
    assert summit.effective_metrics(zero, row)["latency_ms"] == 9


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (20, 20_000),
        (0.5, 500),
        (0.0001, 1),
        (0.0011, 2),
        (0.001, 1),
        (1.001, 1001),  # 1000.9999999999999 in doubles
        (4.35, 4350),
        (604_800, 604_800_000),
        (5e-324, 1),
    ],
)
def test_seconds_are_rounded_up_on_the_decimal(seconds: float, ms: int) -> None:
    assert summit.timeout_ms({"seconds": seconds}, 600) == ms
    assert summit.timeout_ms(None, seconds) == summit.timeout_ms({"usd": 1}, seconds) == ms


@pytest.mark.parametrize("claim", VERIFICATION_STATUSES)
@pytest.mark.parametrize("passed", [(), (True,), (True, False), (False, False)])
def test_a_claim_is_made_stricter_and_never_milder(claim: str, passed: tuple[bool, ...]) -> None:
    checks = [{"name": str(i), "passed": one} for i, one in enumerate(passed)]
    verification = {"status": claim, "checks": checks}
    effective = summit.effective_status(verification)
    assert effective == (claim if all(passed) else FAILED)
    row = summit.row_verification(verification)
    assert row == {"status": effective, "claimedStatus": claim, "checks": checks}


def test_a_verification_without_checks_is_what_it_claims() -> None:
    assert summit.effective_status({"status": FLAGGED}) == FLAGGED


def test_the_strictest() -> None:
    assert summit.strictest() is summit.strictest(None, None) is None
    assert summit.strictest(None, PASSED) == PASSED
    assert summit.strictest(FLAGGED, PASSED, None) == FLAGGED
    assert summit.strictest(PASSED, FAILED, FLAGGED) == FAILED
