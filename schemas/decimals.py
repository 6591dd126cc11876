"""Exact decimal arithmetic on the numbers of packets: the double 0.1 is the decimal 0.1.

Source: APC guide, 1.

Comparisons of Decimals are exact.  Arithmetic must go through `product`, `total` and
`difference`, since the default context rounds to 28 digits.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

_EXACT = Context(prec=2000, rounding=ROUND_HALF_EVEN)
_MAX_SAFE_INTEGER = 2**53 - 1


def dec(number: float) -> Decimal:
    """Return the decimal that the RFC 8785 spelling of a finite number denotes."""
    if isinstance(number, int) and abs(number) <= _MAX_SAFE_INTEGER:
        return Decimal(number)
    return Decimal(repr(float(number)))


def product(a: Decimal, b: Decimal) -> Decimal:
    return _EXACT.multiply(a, b)


def difference(a: Decimal, b: Decimal) -> Decimal:
    return _EXACT.subtract(a, b)


def total(a: Decimal, b: Decimal) -> Decimal:
    return _EXACT.add(a, b)


def format_plain(number: Decimal) -> str:
    """Format a number without an exponent and without trailing zeros: `0.84`, `1`."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def round6(number: Decimal | Fraction | float) -> float:
    """Round half-even to 6 decimal places, as formulas write their results."""
    return float(Decimal(_scaled(number, 6)).scaleb(-6))


def to_nano(number: Decimal | Fraction | float) -> int:
    """Convert to units of 10^-9, rounded half-even (APC guide, 5.6)."""
    return _scaled(number, 9)


def _scaled(number: Decimal | Fraction | float, places: int) -> int:
    if isinstance(number, Fraction):
        shifted: Fraction = number * 10**places
        return round(shifted)
    exact = number if isinstance(number, Decimal) else dec(number)
    whole: Decimal = _EXACT.to_integral_value(exact.scaleb(places, _EXACT))
    return int(whole)
