"""Sums that are exact: what a number says is its RFC 8785 spelling, not its binary digits.

So 0.1 + 0.2 is 0.3, and a sum does not depend on the order of its parts.

Source: SAP spec, 9.7.
"""

from __future__ import annotations

import math
import sys
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from schemas import canonical_json

# The digits of any sum of doubles: from 10^-324 to 10^308, with room to carry.
_EXACT = Context(prec=700, traps=[Inexact])
ZERO = "0"


def exact(number: float) -> Decimal:
    """The decimal that RFC 8785 spells."""
    return Decimal(canonical_json(number).decode())


def add(total: str, number: float) -> str:
    """A sum, in decimal digits, with one more number."""
    return str(_EXACT.add(Decimal(total), exact(number)))


def shown(total: str) -> float:
    """The double next to a sum; the largest there is where the sum lies beyond."""
    near = float(Decimal(total))
    return math.copysign(sys.float_info.max, near) if math.isinf(near) else near


def mean(total: str, count: int) -> float:
    """The double next to the exact mean."""
    return float(Fraction(Decimal(total)) / count)
