"""`GET /v1/verdicts`: the refused and the duplicate records of all protocols, newest first."""

from __future__ import annotations

from typing import Any

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.protocols.queries import QUERIES
from streams.views.pages import Entries, page_of
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit, one_of
from streams.views.service.refusals import latest_refusals, prefix_of
from streams.views.service.verdicts import DUPLICATE, REJECTED, Judgement
from streams.views.values import filters_of

Json = dict[str, Any]
MOST_READ = 2500
"""The most verdicts that one page reads; where filters leave few of them, the next page goes on."""
_FILTERS = ("protocol", "verdict", "rule", "fault", "principal", "agent")
VERDICT_PARAMS = (
    one_of("protocol", "of this protocol", tuple(side.name for side in QUERIES)),
    one_of("verdict", "only these", (REJECTED, DUPLICATE)),
    Parameter("rule", "decided by this rule", low=1, example="score_below_window"),
    one_of("fault", "whose fault it is", ("sender", "service", "infrastructure")),
    Parameter("principal", "sent by this principal", low=1),
    Parameter("agent", "sent by this agent", low=1),
    Parameter("from", "not earlier", ValueForm.TIME, example="2026-11-22T12:00:00.000Z"),
    Parameter("to", "earlier than this", ValueForm.TIME, example="2026-11-23T12:00:00.000Z"),
    limit(100, 1000),
    CURSOR,
)


def list_verdicts(call: Call) -> Json:
    """Return a page of verdicts."""
    filters = filters_of(call.params, _FILTERS)
    span = call.params.time("from"), call.params.time("to")
    latest = latest_refusals(call.view, filters, *span)

    def entries(before_key: bytes | None) -> Entries:
        for row_key, judgement in latest(before_key):
            yield row_key, None if judgement is None else judgement_json(judgement)

    return page_of(call.params, prefix_of(filters), entries, MOST_READ)


def judgement_json(judgement: Judgement) -> Json:
    """Return a verdict in its JSON form."""
    return {**judgement._asdict(), "at": iso_ms(judgement.at)}


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/verdicts",
        "list_all_verdicts",
        Query(list_verdicts),
        "the refused and the duplicate records of all protocols, newest first",
        VERDICT_PARAMS,
        "VerdictPage",
    ),
)
