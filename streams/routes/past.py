"""`?as_of=`: a query over one object, as it was at a past moment."""

from __future__ import annotations

from dataclasses import replace

from streams.api.route import Call, Query
from streams.engine.log import Log
from streams.replay.as_of.overlay import Overlay
from streams.replay.as_of.point import parse_as_of
from streams.replay.as_of.query import AsOfQuery
from streams.routes.table import MatchedRoute


def as_of_call(call: Call, matched: MatchedRoute, log: Log) -> Call:
    """Return the call as it would have been at `as_of`; the same call if the query has none.

    It may read the log.  Raises QueryError, Conflict, Gone.
    """
    action = matched.route.action
    if matched.as_of is None or not isinstance(action, Query) or action.past is None:
        return call
    prefix = call.settings.prefix
    as_of = parse_as_of(matched.as_of, log, call.view, prefix, call.now)
    params = {name: call.params.text(name) for name in ("session_id", "task_id")}
    ids = {**{name: text for name, text in params.items() if text is not None}, **call.ids}
    rows = action.past(AsOfQuery(call.view, log, prefix, as_of, ids))
    return replace(call, view=Overlay(call.view, rows), now=as_of.at)
