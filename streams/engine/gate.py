"""The gate before timers: records that came in time are decided first.

A timer due at T fires only after its task has decided every record that its inputs held when the
clock read T.  So an answer that came in time counts, however long the task was down.

The gate asks for high watermarks, not for last stable offsets: an open transaction of any producer
holds back the last stable offset, and so hides records that others have committed after it.  A
consumer whose position has reached a high watermark has received all committed records below it;
the others below it are aborted.  The high watermarks are read once, and again only when the timers
due by then have fired.  So the gate waits for no transaction that began afterwards, and for the
others no longer than their timeouts, after which Kafka's coordinator aborts them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition

PositionOf = Callable[[TopicPartition], int]
"""A function that returns the next offset of an input; all records below it are decided."""


class EndOffsets(NamedTuple):
    """High watermarks, and the clock in ms just before they were read."""

    at: int
    ends: dict[TopicPartition, int]


class Gate:
    """The gate of one task.  `ask` blocks; any thread may call the other methods."""

    def __init__(
        self, source: Log, tps: Collection[TopicPartition], clock: Callable[[], int]
    ) -> None:
        self._log, self._tps, self._clock = source, list(tps), clock
        self._end_offsets = EndOffsets(0, {})

    def read_end_offsets(self) -> None:
        """Read the high watermarks of the inputs.  Raises BrokerUnavailable."""
        at = self._clock()
        self._end_offsets = EndOffsets(at, self._log.high_watermarks(self._tps))

    def needs_end_offsets(self, due: int | None) -> bool:
        """Check whether a timer due at `due` is due by now and later than the known ends."""
        return due is not None and self._end_offsets.at < due <= self._clock()

    def firing_limit(self, due: int | None, position_of: PositionOf) -> int | None:
        """Return the time up to which timers may fire when the first is due at `due`, or None."""
        limits = self._end_offsets
        if due is None or due > limits.at:
            return None
        return None if _inputs_behind(limits, position_of) else limits.at

    def waits_ms(self, due: int | None, position_of: PositionOf) -> dict[TopicPartition, int]:
        """Return how long a timer due at `due` has waited for each input that lags, in ms."""
        limits = self._end_offsets
        if due is None or due > limits.at:
            return {}
        return dict.fromkeys(_inputs_behind(limits, position_of), max(0, self._clock() - limits.at))


def _inputs_behind(limits: EndOffsets, position_of: PositionOf) -> list[TopicPartition]:
    return [tp for tp, end in limits.ends.items() if position_of(tp) < end]
