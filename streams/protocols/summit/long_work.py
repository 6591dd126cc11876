"""Runs of Summit as work that takes long."""

from __future__ import annotations

from streams.api.long_work import Author, LongWork, Order, WorkState
from streams.api.things import Ids
from streams.errors import NotFound
from streams.protocols.summit.agent_tools import make_cancel
from streams.protocols.summit.queries.runs import require_row, run_row
from streams.views.reads import ReadOnlyStore
from topology.summit import SUMMIT_CALLS

_REASON = "the client called it off"


def _read(view: ReadOnlyStore, ids: Ids) -> WorkState | None:
    try:
        row = require_row(view, ids["runId"])
    except NotFound:
        return None
    return WorkState(row["state"], row["createdAt"], row["updatedAt"], row["message"])


def _cancel(view: ReadOnlyStore, ids: Ids, author: Author) -> Order:
    return Order(SUMMIT_CALLS, make_cancel(ids["runId"], _REASON))


LONG_WORK = LongWork(
    letter="r",
    row=lambda ids: run_row(ids["runId"]),
    read=_read,
    cancelled="cancelled",
    cancel=_cancel,
)
