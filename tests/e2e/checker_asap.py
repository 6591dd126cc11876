"""What a run of ASAP must have left, whatever happened to the workers meanwhile.

Every rule is told from the log alone, by its own words and not by the processor's code: tasks,
calls, saved states and verdicts are modelled anew from the spec.  What is a pure function of the
project (whether an envelope is well formed, its hash, a derived id) is called again.

Source: ASAP guide, 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e import asap_check_commands, asap_check_keys, asap_check_outcome
from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory


def check(history: AsapHistory) -> list[str]:
    """Everything that is wrong."""
    return list(faults(history, Fold(history)))


def faults(history: AsapHistory, fold: Fold) -> Iterator[str]:
    yield from asap_check_commands.check(history)
    yield from fold.faults
    yield from asap_check_keys.check(history, fold)
    yield from asap_check_outcome.check(history, fold)
