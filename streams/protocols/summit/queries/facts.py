"""Verdicts: the one on a record, and all about a run or an agent."""

from __future__ import annotations

from streams.protocols.summit.queries.rows import agent_events, fact_key, run_events
from streams.views.pages import listed, rows_by, rows_of
from streams.views.parameters import CURSOR, limit
from streams.views.params import Params
from streams.views.reads import Reads
from streams.views.values import Json, json_of
from topology.summit import SUMMIT_EVENTS

PAGED = (limit(100, 500), CURSOR)
__all__ = ["PAGED", "of_agent", "of_run", "verdict", "verdict_row"]


def verdict_row(position: str) -> bytes:
    """Of the fact about the record there."""
    return fact_key(f"{position}/0")


def verdict(view: Reads, position: str) -> Json | None:
    """The SummitEvent about the record there; None while it is not seen."""
    (row,) = view.get_many([verdict_row(position)])
    return None if row is None else json_of(SUMMIT_EVENTS, row)


def of_run(view: Reads, run_id: str, params: Params) -> Json:
    """A page of SummitEvents, in log order."""
    return _page(view, run_events(run_id), params)


def of_agent(view: Reads, agent_id: str, params: Params) -> Json:
    """A page of the SummitEvents about its manifests, in log order."""
    return _page(view, agent_events(agent_id), params)


def _page(view: Reads, prefix: bytes, params: Params) -> Json:
    index = rows_of(view, prefix, lambda own: own)
    return listed(params, prefix, rows_by(view, index, lambda row: json_of(SUMMIT_EVENTS, row)))
