"""The gate before timers: what came in time is decided first.

A timer due at T fires only after its task has decided everything that was written to its inputs
when the clock stood at T, so that an answer which came in time counts, however long the task was
down.

The gate asks for high watermarks, not for last stable offsets: an open transaction of anyone keeps
the last stable offset before it, and so hides what others have committed behind it.  A consumer
that has come to a high watermark was given all below it that is committed, and the rest is known to
be aborted.  The question is asked once; only when the timers due by then have fired is it asked
again.  So the gate waits for no transaction that was begun after the question, and for the others
no longer than their timeouts, after which Kafka's coordinator aborts them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition

Stands = Callable[[TopicPartition], int]
"""The next offset of an input: everything below it is decided."""


class Asked(NamedTuple):
    """High watermarks, and where the clock stood before they were asked for, in ms."""

    at: int
    ends: dict[TopicPartition, int]


class Gate:
    """The gate of one task.  `ask` blocks; any thread may call the others."""

    def __init__(
        self, source: Log, tps: Collection[TopicPartition], clock: Callable[[], int]
    ) -> None:
        self._log, self._tps, self._clock = source, list(tps), clock
        self._asked = Asked(0, {})

    def ask(self) -> None:
        """Ask the log where the inputs end.  Raises BrokerUnavailable."""
        at = self._clock()
        self._asked = Asked(at, self._log.high_watermarks(self._tps))

    def wants_ends(self, due: int | None) -> bool:
        """A timer due then is due by now, and the ends known do not cover it."""
        return due is not None and self._asked.at < due <= self._clock()

    def opens_to(self, due: int | None, stands: Stands) -> int | None:
        """The clock up to which timers may fire when the first is due then, or None."""
        asked = self._asked
        if due is None or due > asked.at:
            return None
        return None if _short(asked, stands) else asked.at

    def waits_ms(self, due: int | None, stands: Stands) -> dict[TopicPartition, int]:
        """For how long a timer due then has waited for each input that is not decided so far."""
        asked = self._asked
        if due is None or due > asked.at:
            return {}
        return dict.fromkeys(_short(asked, stands), max(0, self._clock() - asked.at))


def _short(asked: Asked, stands: Stands) -> list[TopicPartition]:
    return [tp for tp, end in asked.ends.items() if stands(tp) < end]
