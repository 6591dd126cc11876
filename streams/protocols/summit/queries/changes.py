"""The facts that changed a run, each of which raised its version by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.protocols.summit.queries.rows import run_events
from streams.protocols.summit.queries.runs import event_of
from streams.views.pages import rows_by_index, rows_of, rows_reversed
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.summit import SUMMIT_EVENTS


class Change(NamedTuple):
    """A fact that changed a run.

    key: that of its row in the view, by which the next ones are found.  fact: SummitEvent, JSON.
    """

    key: bytes
    fact: Json

    @property
    def version(self) -> int:
        return int(self.fact["runVersion"])


def changes(view: ReadOnlyStore, run_id: str, after: bytes | None = None) -> Iterator[Change]:
    """Yield the changes of a run in log order.  after: the key of the last one that is known."""
    prefix = run_events(run_id)
    index = rows_of(view, prefix, lambda row_key: row_key)
    for key, fact in rows_by_index(view, index, _read_change)(after):
        if fact is not None:
            yield Change(key, fact)


def newest_changes(view: ReadOnlyStore, run_id: str) -> Iterator[Change]:
    """Yield the changes of a run, the newest first."""
    index = rows_reversed(view, run_events(run_id), lambda row_key: row_key)
    for key, fact in rows_by_index(view, index, _read_change)(None):
        if fact is not None:
            yield Change(key, fact)


def _read_change(row: bytes) -> Json | None:
    """Return the fact if it changed its run; refusals and repetitions say a version too."""
    fact = event_of(json_of(SUMMIT_EVENTS, row))
    is_change = fact["verdict"] in ("accepted", "fired") and fact["runVersion"] is not None
    return fact if is_change else None
