"""Fetching the rows that a batch will ask for, in one call per table; only a matter of speed."""

from __future__ import annotations

from collections.abc import Sequence

from streams.engine.processor import Timer, Work
from streams.protocols.summit.processor.inbound import Inbound, Reply
from streams.protocols.summit.processor.replies import reply_key
from topology.tables import SUMMIT_REPLIES, SUMMIT_RUNS


def load(inputs: Sequence[Inbound | None], work: Work) -> None:
    """inputs: None for a manifest."""
    sound = [item for item in inputs if item is not None and item.problem is None]
    work.rows(SUMMIT_RUNS).load([item.run_id for item in sound])
    work.rows(SUMMIT_REPLIES).load([reply_key(item) for item in sound if isinstance(item, Reply)])


def load_timers(timers: Sequence[Timer], work: Work) -> None:
    work.rows(SUMMIT_RUNS).load([timer.key for timer in timers])
