"""A check that a read to fixed ends goes on: an unclean election can take the ends away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import BrokerUnavailable, RestoreStalled

SILENCE_S = 30.0
"""How long a restore may read nothing."""


class StallCheck:
    """The progress of one read.  ends: the offsets that it must reach."""

    def __init__(self, log: Log, ends: Mapping[TopicPartition, int]) -> None:
        self._log, self._ends = log, ends
        self._positions: dict[TopicPartition, int] = {}
        self._since = time.monotonic()

    def check(self, position: Callable[[TopicPartition], int]) -> None:
        """Check the positions after each poll.

        Raises RestoreStalled if nothing was read for `SILENCE_S` and an end exists no more,
        BrokerUnavailable if all of them exist.
        """
        positions = {tp: position(tp) for tp in self._ends}
        if positions != self._positions:
            self._positions, self._since = positions, time.monotonic()
        elif time.monotonic() - self._since > SILENCE_S:
            raise self._stall_error()

    def _stall_error(self) -> RestoreStalled | BrokerUnavailable:
        for tp, end in self._log.high_watermarks(list(self._ends)).items():
            if end < self._ends[tp]:
                return RestoreStalled(
                    f"{tp.topic}/{tp.partition} ended at {self._ends[tp]} when the restore began,"
                    f" and ends at {end} now: the log has lost records"
                )
        return BrokerUnavailable(f"a restore has read nothing for {SILENCE_S:.0f} s")
