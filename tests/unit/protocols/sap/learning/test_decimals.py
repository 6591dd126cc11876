"""Sums are those of the numbers as they are spelled."""

from __future__ import annotations

import sys
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.learning.aggregates import (
    ZERO,
    add_exactly,
    exact_decimal,
    mean_of,
    nearest_double,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def total(numbers: list[float]) -> str:
    sum_text = ZERO
    for number in numbers:
        sum_text = add_exactly(sum_text, number)
    return sum_text


def test_a_tenth_and_a_fifth() -> None:
    assert total([0.1, 0.2]) == "0.3"
    assert nearest_double(total([0.1] * 10)) == 1
    assert mean_of(total([0.1, 0.2]), 2) == 0.15


def test_large_and_small_do_not_swallow_each_other() -> None:
    assert nearest_double(total([1e308, 1e-308, -1e308])) == 1e-308


def test_a_sum_beyond_all_doubles_is_shown_as_the_largest() -> None:
    assert nearest_double(total([sys.float_info.max] * 3)) == sys.float_info.max
    assert nearest_double(total([-sys.float_info.max] * 3)) == -sys.float_info.max
    assert mean_of(total([sys.float_info.max] * 3), 3) == sys.float_info.max


@given(st.lists(NUMBERS, max_size=20))
def test_a_sum_is_exact_in_any_order(numbers: list[float]) -> None:
    expected = sum((Fraction(exact_decimal(number)) for number in numbers), Fraction(0))
    assert Fraction(total(numbers)) == expected == Fraction(total(numbers[::-1]))
