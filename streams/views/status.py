"""The status and the statistics of a live view."""

from __future__ import annotations

from typing import Literal, NamedTuple

from streams.engine.records import TopicPartition

State = Literal["starting", "rebuilding", "catching_up", "ready", "failed"]


class ViewStatus(NamedTuple):
    """The status of a live view.

    state: queries are answered in `ready` only.
    lag: offsets between the view and the topics' ends at the last poll.
    applied: records since the process began.
    since_ms: when the view entered this state, in ms since the epoch.
    reason: why it is not ready, or why it may fall behind (no broker answers).
    behind_ms: how long something has been on the log that the view has not applied; 0 if there was
    nothing at the last poll, so never more than the truth.
    """

    state: State
    lag: int
    applied: int
    since_ms: int
    reason: str | None
    behind_ms: int = 0

    @property
    def ready(self) -> bool:
        return self.state == "ready"


class ViewStats(NamedTuple):
    """Statistics of a view for metrics; totals since the process began.

    apply_s: seconds spent applying records, without waiting.  rebuilds: how often the store was
    rebuilt.  positions: the next offset of each partition to be applied.  rows_bytes: approximate
    size on disk and in memory.  skipped: records that no processor can have written.
    """

    applied: int = 0
    batches: int = 0
    apply_s: float = 0.0
    rebuilds: int = 0
    positions: tuple[tuple[TopicPartition, int], ...] = ()
    rows_bytes: int = 0
    skipped: int = 0
