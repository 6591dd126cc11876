"""Rows of integers that packets add to and subtract from, and exact sums and means."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import NamedTuple, Self

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


MODES = ("WINNER_TO_LOSERS", "CROSS_USE_CASE", "COMMONS_SEED", "SELECTIVE_IMPORT", "unknown")


class Sums(NamedTuple):
    """All figures of one protocol in one universe.

    packets to last_seen and the five modes: packets of any type that bear its lineage.  The others:
    TRANSFERs of it.  last_seen: ms.  Sums of means are in units of 10^-9.
    """

    packets: int = 0
    cross: int = 0
    runs: int = 0
    tasks: int = 0
    last_seen: int = 0
    winner_to_losers: int = 0
    cross_use_case: int = 0
    commons_seed: int = 0
    selective_import: int = 0
    unknown: int = 0
    transfers: int = 0
    accepted: int = 0
    transfer_runs: int = 0
    transfer_tasks: int = 0
    outcome_weight: int = 0
    outcome_sum_nano: int = 0
    drift_weight: int = 0
    drift_sum_nano: int = 0

    @property
    def by_mode(self) -> dict[str, int]:
        """Return the number of packets of each mode that occurs."""
        return {mode: n for mode, n in zip(MODES, self[5:10], strict=True) if n}

    def dump(self) -> bytes | None:
        """Return the row, None when nothing is left in it."""
        return _SUMS.pack(*self) if self.packets or self.transfers else None

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls() if row is None else cls._make(_SUMS.unpack(row))


_SUMS = struct.Struct(f"<{len(Sums._fields)}q")
Figures = tuple[int, ...]
"""The values of `Sums` as a plain tuple, since the garbage collector skips tuples of integers."""
figures_in = _SUMS.unpack


_index = Sums._fields.index


class SumsIndex:
    """Indexes of figures in `Sums`."""

    PACKETS, RUNS, LAST_SEEN = _index("packets"), _index("runs"), _index("last_seen")
    TRANSFERS, ACCEPTED = _index("transfers"), _index("accepted")
    TRANSFER_TASKS = _index("transfer_tasks")
    OUTCOME_WEIGHT, DRIFT_WEIGHT = _index("outcome_weight"), _index("drift_weight")


def add_up_packets(rows: Iterable[Figures]) -> Sums:
    """Add up packets with lineage of all protocols, also by mode; ignore the other members."""
    columns = islice(zip(*rows, strict=True), SumsIndex.TRANSFERS)
    return Sums(*map(sum, columns))


class Totals(NamedTuple):
    """A universe as a whole: how much there is to scan, and its tasks with transfers.

    Tasks with a cross-use-case transfer, then those without: their number; of the means of their
    outcomes, and of their drifts, number and sum (in units of 10^-9).
    """

    packets: int = 0
    runs: int = 0
    cross_tasks: int = 0
    cross_outcomes: int = 0
    cross_outcome_nano: int = 0
    cross_drifts: int = 0
    cross_drift_nano: int = 0
    plain_tasks: int = 0
    plain_outcomes: int = 0
    plain_outcome_nano: int = 0
    plain_drifts: int = 0
    plain_drift_nano: int = 0

    def dump(self) -> bytes | None:
        return _TOTALS.pack(*self) if any(self) else None

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls() if row is None else cls._make(_TOTALS.unpack(row))


_TOTALS = struct.Struct(f"<{len(Totals._fields)}q")


class Spread(NamedTuple):
    """The number of packets with lineage and of TRANSFERs in a run."""

    packets: int = 0
    transfers: int = 0

    def dump(self) -> bytes | None:
        return _SPREAD.pack(*self) if any(self) else None

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls() if row is None else cls._make(_SPREAD.unpack(row))


_SPREAD = struct.Struct("<2q")
