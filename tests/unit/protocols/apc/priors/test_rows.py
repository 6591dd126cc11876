"""The rows of priors, and the belief that a reader makes of one (APC guide, 5.10)."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.processor import AvroValue
from streams.protocols.apc.priors import ApcPriorsProcessor
from streams.protocols.apc.priors.processor import Foreign
from streams.protocols.apc.priors.rows import belief_of, decimal_text, evolve_prior
from tests.unit.processing.harness import START_MS, Harness
from topology.apc import APC_PRIORS_TABLE

NANO = 10**9
ONE = Decimal(1)
NAMES = ("attempts", "outcome_sum_nano", "gates_met", "drift_weight", "drift_sum_nano")


def row(attempts: int, outcome_sum_nano: int) -> dict[str, int]:
    return {"attempts": attempts, "outcome_sum_nano": outcome_sum_nano}


def delta(n: int, strategy: str = "m-1", **sums: int) -> AvroValue:
    return {
        "delta_id": f"apc.packets/0/{n}/0/u/method/{strategy}",
        "use_case": "u",
        "kind": "method",
        "strategy": strategy,
        "session_id": "s1",
        "run_id": "r1",
        "task_id": "t1",
        "packet_id": f"p{n}",
        "at": START_MS + n,
        "cause": f"apc.packets/0/{n}",
        **dict.fromkeys(NAMES, 0),
        **sums,
    }


def test_the_worked_example() -> None:
    belief = belief_of(row(2, 1_250_000_000), ONE, ONE)
    assert [decimal_text(each) for each in belief] == ["2.25", "1.75", "0.5625", "0.221853"]


def test_without_attempts_it_is_the_policys() -> None:
    belief = belief_of(row(0, 0), Decimal("0.5"), Decimal(3))
    assert [decimal_text(each) for each in belief[:2]] == ["0.5", "3"]


@given(
    st.integers(0, 10**6),
    st.integers(0, NANO),
    st.decimals("0.001", 1000, places=3),
    st.decimals("0.001", 1000, places=3),
)
def test_alpha_and_beta_are_exact(n: int, share: int, alpha: Decimal, beta: Decimal) -> None:
    belief = belief_of(row(n, n * share), alpha, beta)
    successes = Fraction(n * share, NANO)
    a, b = Fraction(alpha) + successes, Fraction(beta) + n - successes
    assert (Fraction(belief.alpha), Fraction(belief.beta)) == (a, b)
    assert Fraction(decimal_text(belief.alpha)) == a
    assert abs(Fraction(belief.mean) - a / (a + b)) <= Fraction(1, 2 * 10**6)
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert math.isclose(float(belief.sd), math.sqrt(variance), abs_tol=6e-7)


SUMS = st.fixed_dictionaries({name: st.integers(-(10**9), 10**9) for name in NAMES})


@given(st.lists(SUMS, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_row_is_the_sum_of_its_deltas_in_any_order(
    listed: list[dict[str, int]], random: Any
) -> None:
    deltas = [{**delta(n), **sums} for n, sums in enumerate(listed)]
    rows = []
    for _ in range(2):
        total = None
        for each in deltas:
            total = evolve_prior(total, each)
        rows.append(total)
        random.shuffle(deltas)
    assert rows[0] == rows[1]
    assert rows[0] == {
        "use_case": "u",
        "kind": "method",
        "strategy": "m-1",
        **{name: sum(sums[name] for sums in listed) for name in NAMES},
        "last_at": START_MS + len(listed) - 1,
        "version": len(listed),
    }


class TestProcessor:
    def test_each_strategy_has_a_row(self) -> None:
        bench = Harness(ApcPriorsProcessor())
        bench.decide(
            *(bench.message(delta(n, name, attempts=1), avro=True) for n, name in enumerate("aba"))
        )
        rows = bench.rows(APC_PRIORS_TABLE)
        assert {key: each["attempts"] for key, each in rows.items()} == {
            "u/method/a": 2,
            "u/method/b": 1,
        }
        assert bench.sent == []

    def test_a_row_whose_sums_are_0_stays(self) -> None:
        bench = Harness(ApcPriorsProcessor())
        for n, attempts in enumerate((1, -1)):
            bench.decide(bench.message(delta(n, attempts=attempts), avro=True))
        (stored,) = bench.rows(APC_PRIORS_TABLE).values()
        assert (stored["attempts"], stored["version"]) == (0, 2)

    def test_a_record_under_another_key_is_a_dead_letter(self) -> None:
        bench = Harness(ApcPriorsProcessor())
        with pytest.raises(Foreign, match="key"):
            bench.decide(bench.message(delta(1), avro=True, key="u/method/m-2"))

    def test_so_is_one_on_another_partition(self) -> None:
        bench = Harness(ApcPriorsProcessor(), partitions=4)
        places = []
        for partition in range(4):
            try:
                bench.decide(bench.message(delta(1), avro=True, partition=partition))
                places.append(partition)
            except Foreign:
                continue
        assert len(places) == 1
