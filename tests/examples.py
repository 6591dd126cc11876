"""How much is tried: all of it, or in a quick run a tenth of the examples and shorter histories."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
DEFAULT = 100
_DIVISOR = 10
_FEWEST = 4
_quick = False


def use_quick() -> None:
    """Have `example_count` return a tenth from now on; call it before test modules are imported."""
    global _quick
    _quick = True


def example_count(count: int) -> int:
    """Return how many examples to try where the whole suite tries `count`."""
    return max(_FEWEST, count // _DIVISOR) if _quick else count


def run_size(whole: T, quick: T) -> T:
    """Return one of two: how much the whole suite does, or how much a quick run does."""
    return quick if _quick else whole
