"""Budgets of money and of tokens, as the Summit guide, 2.5 and 9.2, has them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.summit.processor.support import Bench, Json


def cost(usd: float, tokens: int = 0) -> Json:
    return {"tokens": tokens, "cost_usd": usd}


def begun(usd: float | None = 1.25, **budget: float) -> Bench:
    bench = Bench()
    limits = {**({} if usd is None else {"usd": usd}), **budget}
    assert bench.invoke(context={"budget": limits})["rule"] == "call.accepted"
    return bench


@pytest.mark.parametrize(
    ("usd", "state"),
    [
        (1.25, "completed"),
        (1.2500000004, "completed"),
        (1.2500000006, "budget_exceeded"),
        (1.31, "budget_exceeded"),
    ],
)
def test_the_specs_sums(usd: float, state: str) -> None:
    bench = begun()
    assert bench.reply("progress", metrics=cost(0.75))["toState"] == "running"
    fact = bench.reply("result", metrics=cost(usd))
    assert bench.state() == state
    assert fact["rule"] == ("reply.result" if state == "completed" else "budget.usd")
    assert fact["figures"]["cost_usd"] == usd
    assert fact["figures"]["usd"] == 1.25


def test_totals_do_not_go_down() -> None:
    bench = begun()
    bench.reply("progress", metrics=cost(0.9, 40))
    bench.reply("result", metrics=cost(0.7, 90))
    assert bench.run()["metrics"] == {"tokens": 90, "cost_usd": 0.9}


def test_a_sum_of_small_charges_breaks_no_budget() -> None:
    bench = begun(0.3)
    assert bench.reply("result", metrics=cost(0.1 + 0.1 + 0.1))["rule"] == "reply.result"


def test_nothing_may_be_spent_where_nothing_is_given() -> None:
    assert begun(0).reply("result", metrics=cost(0))["rule"] == "reply.result"
    assert begun(0).reply("result", metrics=cost(1e-9))["rule"] == "budget.usd"


def test_money_is_looked_at_before_tokens() -> None:
    bench = begun(1, tokens=5)
    assert bench.reply("result", metrics=cost(2, 9))["rule"] == "budget.usd"
    bench = begun(1, tokens=5)
    fact = bench.reply("result", metrics=cost(1, 6))
    assert fact["rule"] == "budget.tokens"
    assert fact["figures"] == {
        "cost_usd": 1,
        "usd": 1,
        "tokens": 6,
        "tokens_budget": 5,
        "elapsed_ms": 0,
    }
    assert begun(None, tokens=5).reply("result", metrics=cost(99, 5))["rule"] == "reply.result"


def test_what_is_not_limited_may_cost_anything() -> None:
    bench = Bench()
    bench.invoke()
    assert bench.reply("result", metrics=cost(1_000_000, 2**53 - 1))["rule"] == "reply.result"


USD = st.integers(0, 3_000).map(lambda n: n / 1000)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(USD, min_size=1, max_size=6), USD)
def test_the_larger_total_stands_and_is_held_against_the_budget(
    totals: list[float], limit: float
) -> None:
    bench = begun(limit)
    largest = 0.0
    for number, usd in enumerate(totals):
        fact = bench.reply("progress", f"p{number}", metrics=cost(usd))
        largest = max(largest, usd)
        assert bench.run()["metrics"]["cost_usd"] == largest
        if largest > limit:
            assert (fact["rule"], bench.state()) == ("budget.usd", "budget_exceeded")
            return
        assert (fact["rule"], bench.state()) == ("reply.progress", "running")
    assert bench.reply("result", metrics=cost(0))["rule"] == "reply.result"
    assert bench.run()["metrics"]["cost_usd"] == largest
