"""How many examples a property is tried with: all of them, or a tenth in a quick run."""

from __future__ import annotations

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
