"""Amounts of money, as responses and lines show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.summit.results import rounded_usd, usd_text
from streams.protocols.summit.lines import LINES
from tests.unit.protocols.summit.queries.stage import (
    CALLS,
    REPLIES,
    RUN,
    critic,
    invoke,
    judgement,
    progress,
    registered,
    result,
)
from tests.unit.views.bench import Bench

NOISE = 0.00001 * 6
"""6.000000000000001e-05 as a double."""
SPENT = {"tokens": 6, "cost_usd": NOISE}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    registered(bench, critic())
    bench.send(CALLS, invoke(budget={"usd": 1}))
    yield bench
    bench.close()


def test_every_response_shows_exact_amounts(bench: Bench) -> None:
    bench.send(REPLIES, progress(metrics=SPENT), result(metrics=SPENT))
    bench.send(REPLIES, {**judgement(), "metrics": SPENT})
    run = bench.look(f"/v1/summit/runs/{RUN}")
    assert run["metrics"] == {"tokens": 6, "cost_usd": 0.00006}
    assert run["judge"]["metrics"]["cost_usd"] == 0.00006
    (listed,) = bench.look("/v1/summit/runs")["items"]
    assert listed["metrics"]["cost_usd"] == 0.00006
    events = bench.look(f"/v1/summit/runs/{RUN}/events")["items"]
    assert [e["figures"].get("cost_usd") for e in events[1:3]] == [0.00006, 0.00006]
    thing = bench.look(f"/v1/things/summit:run:{RUN}")
    assert thing["details"]["metrics"]["cost_usd"] == 0.00006
    assert str(NOISE) not in str(thing)


def test_a_line_of_the_tail_shows_the_amount_without_an_exponent() -> None:
    value = {**progress(metrics=SPENT), "message": None}
    assert LINES[REPLIES](value).reason == "$0.00006, 6 tokens"


@pytest.mark.parametrize(
    ("usd", "number", "digits"),
    [
        (NOISE, 0.00006, "0.00006"),
        (0.1 + 0.2, 0.3, "0.3"),
        (1e-9, 1e-9, "0.000000001"),
        (4e-10, 0.0, "0"),
        (1234567.25, 1234567.25, "1234567.25"),
        (0, 0.0, "0"),
    ],
)
def test_amounts_have_nine_places(usd: float, number: float, digits: str) -> None:
    assert (rounded_usd(usd), usd_text(usd)) == (number, digits)
