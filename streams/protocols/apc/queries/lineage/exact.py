"""Sums and means without rounding, but for the last step."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import lcm

from schemas.decimals import difference, format_plain, round6
from schemas.decimals import total as exact_sum

_NANO = 10**9


def plus(total: str, change: str, sign: int) -> str:
    """Add or subtract decimals as text; equal sums have equal texts.  sign: 1 or -1."""
    add = exact_sum if sign > 0 else difference
    return format_plain(add(Decimal(total), Decimal(change)))


def mean(total: Fraction | Decimal | int, count: int) -> float | int | None:
    """Return the mean, rounded for a response; None without a count."""
    return None if count == 0 else round_number(Fraction(total) / count)


def mean_of_nano(total: int, count: int) -> float | int | None:
    """Return the mean, rounded for a response; total in units of 10^-9."""
    return None if count == 0 else round_number(Fraction(total, count * _NANO))


def round_number(exact: Fraction) -> float | int:
    """Round half-even to 6 places, as an int if it is whole."""
    rounded = round6(exact)
    return int(rounded) if rounded.is_integer() else rounded


def weighted_mean(terms: Iterable[tuple[int, int, int]]) -> Fraction | None:
    """Return the mean of sum ÷ count (sums in units of 10^-9); terms: (weight, sum, count)."""
    by_count: dict[int, int] = {}
    weights = 0
    for weight, total, count in terms:
        by_count[count] = by_count.get(count, 0) + weight * total
        weights += weight
    if not weights:
        return None
    common = lcm(*by_count)
    whole = sum(total * (common // count) for count, total in by_count.items())
    return Fraction(whole, common * weights * _NANO)
