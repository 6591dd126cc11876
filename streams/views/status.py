"""What a live view says of itself."""

from __future__ import annotations

from typing import Literal, NamedTuple

from streams.engine.records import TopicPartition

State = Literal["starting", "rebuilding", "catching_up", "ready", "failed"]


class ViewStatus(NamedTuple):
    """state: queries are answered in `ready` alone.

    lag: offsets between the view and the ends that the topics had when last asked.  applied:
    records, since the process began.  since_ms: when it came into this state, in ms since the
    epoch.  reason: why it is not ready, or why it may fall behind (no broker answers).
    """

    state: State
    lag: int
    applied: int
    since_ms: int
    reason: str | None

    @property
    def ready(self) -> bool:
        return self.state == "ready"


class ViewStats(NamedTuple):
    """Figures to be exported; totals since the process began.

    apply_s: seconds spent in applying, waiting not counted.  rebuilds: copies begun anew.
    positions: the next offset of each partition, as far as it is applied.  rows_bytes: on disk
    and in memory, about.
    """

    applied: int = 0
    batches: int = 0
    apply_s: float = 0.0
    rebuilds: int = 0
    positions: tuple[tuple[TopicPartition, int], ...] = ()
    rows_bytes: int = 0
