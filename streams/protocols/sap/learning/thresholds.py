"""The threshold of a principle: lowered where checks fail early, raised where none fail.

The Task's readings of a principle are counted in bins (low, low + 5]: the number of readings, and
of those where the principle failed.  With B₅ the multiple of 5 at or under the constitution's
threshold, it is:

* lowered to the smallest low ≥ 0 of B₅ − 20, − 15, − 10, − 5 whose bin has 20 readings or more,
  of which a tenth or more failed;
* else raised, only where exceeding asks for a check, past each of the two bins above B₅ that has
  200 readings or more of which none failed, to 100 at most;
* else the constitution's.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 5
LOWER = (-20, -15, -10, -5)
RAISE = (0, 5)
LOWER_SAMPLES = 20
LOWER_SHARE = 10
"""A share of one failure in this many readings lowers the threshold."""
RAISE_SAMPLES = 200
HIGHEST = 100

Bin = Mapping[str, int]


def bin_of(reading: float) -> int:
    """Return `low` of the bin that contains the reading."""
    low = _multiple(reading)
    return low - WIDTH if low == reading else low


def count(bins: Sequence[Bin], reading: float, failed: bool) -> list[dict[str, int]]:
    """Return the bins of a principle after one computed outcome, by `low`."""
    low = bin_of(reading)
    by_low = {one["low"]: dict(one) for one in bins}
    before = by_low.get(low) or {"low": low, "n": 0, "f": 0}
    by_low[low] = before | {"n": before["n"] + 1, "f": before["f"] + failed}
    return [by_low[key] for key in sorted(by_low)]


def basis(bins: Sequence[Bin], base: float, on_exceed: str) -> dict[str, Any]:
    """Return all figures that the threshold of one principle is derived from.

    base, on_exceed: from the constitution.
    """
    lows = {_multiple(base) + step for step in (*LOWER, *RAISE)}
    counted = [dict(one) for one in bins if one["low"] in lows]
    return {"base": base, "onExceed": on_exceed, "bins": counted}


def derive(counted_bins: Mapping[str, Any]) -> float | None:
    """Derive the threshold from the figures; None for the constitution's."""
    low = _multiple(counted_bins["base"])
    bins = {one["low"]: (one["n"], one["f"]) for one in counted_bins["bins"]}
    for step in LOWER:
        n, f = bins.get(low + step, (0, 0))
        if low + step >= 0 and n >= LOWER_SAMPLES and f * LOWER_SHARE >= n:
            return float(low + step)
    return _raised_threshold(low, bins) if counted_bins["onExceed"] == "check" else None


def _raised_threshold(low: int, bins: Mapping[int, tuple[int, int]]) -> float | None:
    raised = None
    for step in RAISE:
        n, f = bins.get(low + step, (0, 0))
        if n < RAISE_SAMPLES or f > 0 or low + step + WIDTH > HIGHEST:
            break
        raised = float(low + step + WIDTH)
    return raised


def _multiple(number: float) -> int:
    """Return the multiple of 5 at or below the number."""
    return int(number // WIDTH) * WIDTH
