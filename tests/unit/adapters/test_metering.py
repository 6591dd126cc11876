"""What calls cost, and what a run says of them (docs/adapters.md)."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.adapters import Price, PriceUnknown, UsageMissing
from streams.adapters.extras import needs_library
from streams.adapters.hiding import hide_secrets
from streams.adapters.metering import Meter
from streams.summit import BudgetExceeded
from streams.summit.serving.run import RunFacts
from tests.unit.summit.support import invoke

Json = dict[str, Any]
PRICES = {"small-1": Price(input="0.15", output="0.60"), "big-1": Price("2.50", "10")}


def run_with(budget: Json | None = None) -> RunFacts:
    return RunFacts(invoke("run-1", {}, budget and {"budget": budget}))


@given(
    st.decimals(0, 1000, places=4),
    st.decimals(0, 1000, places=4),
    st.integers(0, 10**7),
    st.integers(0, 10**7),
)
def test_a_call_costs_its_tokens_at_the_price_of_a_million(
    price_in: Decimal, price_out: Decimal, tokens_in: int, tokens_out: int
) -> None:
    exact = (Fraction(price_in) * tokens_in + Fraction(price_out) * tokens_out) / 10**6
    rounded = Decimal(round(exact * 10**9)).scaleb(-9)
    assert Price(price_in, str(price_out)).cost(tokens_in, tokens_out) == rounded


def test_half_a_nano_dollar_is_rounded_to_even() -> None:
    halves = [Price("0.0005", "0").cost(tokens, 0) for tokens in (1, 3, 5)]
    assert halves == [Decimal(0), Decimal("2e-9"), Decimal("2e-9")]


@pytest.mark.parametrize("price", ["free", "", "-1", "NaN", "Infinity", 0.1, None, []])
def test_what_is_no_price_is_refused(price: Any) -> None:
    with pytest.raises(ValueError, match="price"):
        Price(price, "1")
    with pytest.raises(ValueError, match="price"):
        Price("1", price)


def test_calls_add_up_by_model_in_the_order_of_the_first() -> None:
    run = run_with()
    meter = Meter(run, PRICES)
    meter.charge("big-1", (100, 10), None)
    meter.charge("small-1", (1000, 0), None)
    meter.charge("big-1", (1, 1), None)
    assert meter.model == "big-1, small-1"
    assert meter.provenance() == {
        "models": [
            {
                "model": "big-1",
                "calls": 2,
                "input_tokens": 101,
                "output_tokens": 11,
                "cost_usd": 0.0003625,
            },
            {
                "model": "small-1",
                "calls": 1,
                "input_tokens": 1000,
                "output_tokens": 0,
                "cost_usd": 0.00015,
            },
        ]
    }
    assert run.account.totals() == {"tokens": 1112, "cost_usd": 0.0005125}


def test_a_run_without_model_calls_names_no_model() -> None:
    meter = Meter(run_with(), PRICES)
    assert (meter.model, meter.provenance()) == ("none", {"models": []})


def test_without_prices_a_call_costs_nothing_and_the_run_says_so() -> None:
    run = run_with()
    meter = Meter(run, None)
    meter.charge(None, (3, 4), None)
    assert meter.model == "unknown"
    assert meter.provenance()["priced"] is False
    assert run.account.totals() == {"tokens": 7, "cost_usd": 0}


@pytest.mark.parametrize(
    ("replied", "requested", "prices", "cost"),
    [
        ("small-1", None, PRICES, 0.15),
        ("small-1-2026-10-01", "small-1", PRICES, 0.15),
        ("small-1", "big-1", PRICES, 0.15),
        (None, "big-1", PRICES, 2.5),
        ("new-1", None, {**PRICES, "*": Price(7, 7)}, 7),
        ("small-1", None, {"*": Price(7, 7), **PRICES}, 0.15),
    ],
)
def test_the_price_is_that_of_the_answer_else_of_the_question_else_of_any(
    replied: str | None, requested: str | None, prices: Any, cost: float
) -> None:
    run = run_with()
    Meter(run, prices).charge(replied, (10**6, 0), requested)
    assert run.account.totals()["cost_usd"] == cost


def test_a_model_without_a_price_fails_the_run_with_its_tokens_counted() -> None:
    run = run_with()
    meter = Meter(run, PRICES)
    with pytest.raises(PriceUnknown, match="no price for new-1"):
        meter.charge("new-1", (5, 6), None)
    assert run.account.totals()["tokens"] == 11
    with pytest.raises(PriceUnknown):
        meter.before_call()


@pytest.mark.parametrize("budget", [{"usd": 1}, {"tokens": 100}, {"usd": 1, "seconds": 9}])
def test_a_call_without_usage_fails_a_run_with_a_budget_of_it(budget: Json) -> None:
    meter = Meter(run_with(budget), PRICES)
    with pytest.raises(UsageMissing, match="small-1 reported no tokens"):
        meter.charge("small-1", None, None)
    assert meter.provenance()["usage"] == "missing"


@pytest.mark.parametrize("budget", [None, {"seconds": 9}])
def test_a_call_without_usage_is_noted_otherwise(budget: Json | None) -> None:
    meter = Meter(run_with(budget), PRICES)
    meter.charge("small-1", None, None)
    assert meter.provenance()["usage"] == "missing"


def test_the_call_that_breaks_the_budget_is_charged_and_stops_the_next() -> None:
    run = run_with({"tokens": 10})
    meter = Meter(run, None)
    meter.before_call()
    meter.charge("small-1", (5, 5), None)
    meter.before_call()
    with pytest.raises(BudgetExceeded):
        meter.charge("small-1", (1, 0), None)
    assert run.account.totals()["tokens"] == 11
    with pytest.raises(BudgetExceeded):
        meter.before_call()


def test_threads_may_report_calls_at_once() -> None:
    run = run_with()
    meter = Meter(run, PRICES)

    def report() -> None:
        for _ in range(200):
            meter.charge("small-1", (1, 1), None)

    threads = [threading.Thread(target=report) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.provenance()["models"][0]["calls"] == 800
    assert run.account.totals()["tokens"] == 1600


def test_secrets_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain words of a key")
    monkeypatch.setenv("SHORT_TOKEN", "to")
    text = "sk-proj-abcdefghijklmnopqrstuvwxyz012345 mine plain words of a key to"
    hidden = hide_secrets(text, ["mine-1", "mine"])
    assert "abcdefghij" not in hidden
    assert "plain words" not in hidden
    assert hidden.endswith(" to")
    assert hide_secrets("bad key own-secret", ["own-secret"]) == "bad key [REDACTED]"


def test_a_missing_library_names_its_extra() -> None:
    missing = pytest.raises(ImportError, match=r"pip install 'headrace\[langchain\]'")
    with missing, needs_library("langchain"):
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401


def test_the_package_loads_no_library() -> None:
    libraries = "{'langchain_core', 'langgraph', 'agents', 'openai'}"
    code = f"import sys, streams.adapters; assert not {libraries} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
