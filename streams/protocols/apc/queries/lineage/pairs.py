"""The correlation of transfers with the outcomes of their tasks: exact sums, coefficients.

Each counted TRANSFER of a task with an evaluation is one pair: x is 1 if it was accepted, else 0,
or the sender's score minus the receiver's; y is the mean outcome of the task's evaluations.

Source: APC guide, 6.1.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Self

import orjson

from schemas.decimals import difference, format_plain, product, round6, total
from streams.views.changes import Cell

Json = dict[str, Any]
_FEWEST = 3
_ROOT = Context(prec=60)


class Pairs(NamedTuple):
    """The sums over pairs that the coefficients are computed from.

    n: pairs.  accepted: the sum of x and of x² where x is 1 or 0.  outcome, outcome_squares: of y
    and y².  accepted_outcome: of y where x is 1.  difference, difference_squares,
    difference_outcome: of x, x² and xy where x is a difference of scores.
    """

    n: int = 0
    accepted: int = 0
    outcome: Decimal = Decimal(0)
    outcome_squares: Decimal = Decimal(0)
    accepted_outcome: Decimal = Decimal(0)
    difference: Decimal = Decimal(0)
    difference_squares: Decimal = Decimal(0)
    difference_outcome: Decimal = Decimal(0)

    def plus(self, other: Pairs) -> Pairs:
        """Return the sums of both."""
        counts = self.n + other.n, self.accepted + other.accepted
        return Pairs(*counts, *map(total, self[2:], other[2:]))

    def minus(self, other: Pairs) -> Pairs:
        """Return the sums without the others."""
        counts = self.n - other.n, self.accepted - other.accepted
        return Pairs(*counts, *map(difference, self[2:], other[2:]))

    def dump(self) -> bytes | None:
        """Return the row, None when there is no pair."""
        return orjson.dumps((*self[:2], *map(format_plain, self[2:]))) if self.n else None

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        if row is None:
            return cls()
        n, accepted, *sums = orjson.loads(row)
        return cls(n, accepted, *map(Decimal, sums))


PAIRS = Cell[list[Pairs]](lambda row: [Pairs.load(row)], lambda pairs: pairs[0].dump())


def pairs_of(
    transfers: int, accepted: int, differences: str, squares: str, outcome_nano: int
) -> Pairs:
    """Return the sums over the TRANSFERs of one task, which share its outcome."""
    outcome = Decimal(outcome_nano).scaleb(-9, _ROOT)
    return Pairs(
        transfers,
        accepted,
        product(outcome, Decimal(transfers)),
        product(product(outcome, outcome), Decimal(transfers)),
        product(outcome, Decimal(accepted)),
        Decimal(differences),
        Decimal(squares),
        product(outcome, Decimal(differences)),
    )


def correlation(pairs: Pairs) -> Json:
    """Return both coefficients, each with the number of its pairs."""
    accepted, difference_sums = Decimal(pairs.accepted), pairs[5:]
    by_acceptance = _coefficient(pairs, accepted, accepted, pairs.accepted_outcome)
    by_difference = _coefficient(pairs, *difference_sums)
    return {
        "point_biserial": {"coefficient": by_acceptance, "n": pairs.n},
        "pearson": {"coefficient": by_difference, "n": pairs.n},
    }


def _coefficient(pairs: Pairs, x: Decimal, xx: Decimal, xy: Decimal) -> float | None:
    """Return Pearson's r, rounded half-even to 6 places.

    Returns None below three pairs, and where x or y does not vary.  x, xx, xy: sums of x, x², xy.
    """
    n, y, yy = pairs.n, Fraction(pairs.outcome), Fraction(pairs.outcome_squares)
    variation = (n * Fraction(xx) - Fraction(x) ** 2) * (n * yy - y**2)
    if n < _FEWEST or variation <= 0:
        return None
    shared = n * Fraction(xy) - Fraction(x) * y
    squared = shared**2 / variation
    numerator, denominator = Decimal(squared.numerator), Decimal(squared.denominator)
    root = _ROOT.sqrt(_ROOT.divide(numerator, denominator))
    return round6(-root if shared < 0 else root)
