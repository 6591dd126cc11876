"""Fetching the rows that a batch will ask for, in one call per table; only a matter of speed."""

from __future__ import annotations

from collections.abc import Sequence

from streams.engine.processor import Timer, Work
from streams.protocols.summit.processor.inbound import Inbound, Reply
from streams.protocols.summit.processor.replies import reply_key
from topology.summit import SUMMIT_REPLIES_KNOWN, SUMMIT_RUNS_TABLE


def load(inputs: Sequence[Inbound | None], work: Work) -> None:
    """inputs: None for a manifest."""
    sound = [item for item in inputs if item is not None and item.problem is None]
    work.rows(SUMMIT_RUNS_TABLE).load([item.run_id for item in sound])
    work.rows(SUMMIT_REPLIES_KNOWN).load(
        [reply_key(item) for item in sound if isinstance(item, Reply)]
    )


def load_timers(timers: Sequence[Timer], work: Work) -> None:
    work.rows(SUMMIT_RUNS_TABLE).load([timer.key for timer in timers])
