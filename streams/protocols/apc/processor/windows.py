"""What the generation and the phase of a TRANSFER demand of it: two tables.

A window holds for generations from `low` on, up to the next one.  Its selector is a label; no
packet is compared with it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class Window(NamedTuple):
    """multiplier, top_k_limit: None where the window sets no such bound."""

    name: str
    low: int
    enabled: bool
    selector: str | None
    multiplier: Decimal | None
    top_k_limit: int | None
    cross_use_case: bool


WINDOWS: tuple[Window, ...] = (
    Window("generation_0_10", 0, False, None, None, None, False),
    Window("generation_11_20", 11, True, "SELECTIVE_IMPORT", Decimal("1.2"), 2, False),
    Window("generation_21_plus", 21, True, "WINNER_TO_LOSERS", None, 2, True),
)
FIRST_ENABLED = next(window.low for window in WINDOWS if window.enabled)
LATE = 21
"""The generation from which a decayed protocol is refused, unless the settings say otherwise."""

PHASE_MULTIPLIER = Decimal("1.2")
"""REFINEMENT: the sender's score must be above the receiver's by this factor."""
PHASE_TOP_K = 2
"""CONVERGENCE: the largest top_k."""
PHASE_MODES = ("WINNER_TO_LOSERS", "COMMONS_SEED")
"""PROMOTION: the modes allowed."""


def window_of(generation: int) -> Window:
    """The window of a generation (≥ 0)."""
    return next(window for window in reversed(WINDOWS) if window.low <= generation)
