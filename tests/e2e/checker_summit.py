"""What a run of Summit must have left, whatever happened to the workers meanwhile.

Every rule is told from the log alone, by its own words and not by the processor's code: shapes,
schemas, hashes, agents and runs are modelled anew from the guide.

Source: Summit guide, 1 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e import summit_check_commands, summit_check_evidence, summit_check_outcome
from tests.e2e.summit_fold import Fold
from tests.e2e.summit_history import Logged


def check(history: Logged, timeout_s: int) -> list[str]:
    """Everything that is wrong.  timeout_s: of runs whose calls give them no time."""
    return list(faults(history, Fold(history, timeout_s)))


def faults(history: Logged, fold: Fold) -> Iterator[str]:
    yield from summit_check_commands.check(history)
    yield from fold.faults
    yield from fold.registry.faults
    yield from summit_check_outcome.check(history, fold)
    yield from summit_check_evidence.check(history)
