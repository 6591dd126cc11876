"""Sums are those of the numbers as they are spelled."""

from __future__ import annotations

import sys
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.learning.decimals import ZERO, add, exact, mean, shown

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def total(numbers: list[float]) -> str:
    sum_text = ZERO
    for number in numbers:
        sum_text = add(sum_text, number)
    return sum_text


def test_a_tenth_and_a_fifth() -> None:
    assert total([0.1, 0.2]) == "0.3"
    assert shown(total([0.1] * 10)) == 1
    assert mean(total([0.1, 0.2]), 2) == 0.15


def test_large_and_small_do_not_swallow_each_other() -> None:
    assert shown(total([1e308, 1e-308, -1e308])) == 1e-308


def test_a_sum_beyond_all_doubles_is_shown_as_the_largest() -> None:
    assert shown(total([sys.float_info.max] * 3)) == sys.float_info.max
    assert shown(total([-sys.float_info.max] * 3)) == -sys.float_info.max
    assert mean(total([sys.float_info.max] * 3), 3) == sys.float_info.max


@given(st.lists(NUMBERS, max_size=20))
def test_a_sum_is_exact_in_any_order(numbers: list[float]) -> None:
    expected = sum((Fraction(exact(number)) for number in numbers), Fraction(0))
    assert Fraction(total(numbers)) == expected == Fraction(total(numbers[::-1]))
