"""A task's batches, and their size after commits that failed.

A transaction must be sent within `transaction.timeout.ms`.  On a slow link a full batch is not: the
broker aborts it, the task opens again, and would decide the same batch for ever.  So each failed
commit halves the batches, down to one record, and successful ones let them grow again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from streams.engine.mac_checks import Serials
from streams.engine.work import BatchOutput
from topology.declarations import Topic

_MAX_HALVINGS = 17
"""2 to this power is more than the largest HEADRACE_BATCH."""
_COMMITS_TO_GROW = 16


@dataclass(slots=True)
class Batch:
    """The output of one transaction.

    serials: the last ones of each input that were accepted, if records have MACs.
    records: how many inputs or timers it decided; poison: how many of them raised.
    timers: whether it fired timers.  decided: inputs or timers decided, by processor.
    decide_s: how long that took.
    """

    effects: BatchOutput = field(default_factory=BatchOutput)
    offsets: dict[Topic, int] = field(default_factory=dict)
    serials: Serials = field(default_factory=dict)
    records: int = 0
    poison: int = 0
    timers: bool = False
    decided: Counter[str] = field(default_factory=Counter)
    decide_s: float = 0.0


class BatchLimit:
    """The limit of one task; it outlives the task that is closed and opened again."""

    def __init__(self) -> None:
        self._halvings = 0
        self._commits = 0

    def records(self, batch: int) -> int:
        """Return how many records a batch may have now.  batch: the number in the settings."""
        return max(1, batch >> self._halvings)

    def shrink(self) -> None:
        """Halve the batches: a commit has failed."""
        self._halvings = min(self._halvings + 1, _MAX_HALVINGS)
        self._commits = 0

    def count_commit(self) -> None:
        """Count a commit; every sixteenth in a row doubles the batches again."""
        self._commits += 1
        if self._commits == _COMMITS_TO_GROW:
            self._commits, self._halvings = 0, max(0, self._halvings - 1)
