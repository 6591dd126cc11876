"""ASAP 0.1 for views, the gateway, `query` and `play`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.api.description import Description
from streams.api.problems import Response
from streams.api.query_side import PlayContext, QuerySide
from streams.api.things import OutcomeQuery
from streams.protocols.asap import routes
from streams.protocols.asap.filling import FILLING
from streams.protocols.asap.lines import LINES
from streams.protocols.asap.long_work import LONG_WORK
from streams.protocols.asap.queries import tasks
from streams.protocols.asap.queries.rows import (
    FOLLOWED,
    ROW,
    TASK_WORK,
    task_row_key,
    verdict_key,
)
from streams.protocols.asap.things import THINGS
from streams.protocols.asap.verdicts import VERDICT_FACTS
from streams.views.keys import key
from streams.views.service.search import SearchedRows
from topology.asap import ASAP_ENVELOPES


def _responses() -> Mapping[str, Any]:
    from streams.protocols.asap.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.asap.openapi import DESCRIPTION

    return DESCRIPTION


def _endpoints(gateway: Any) -> Sequence[tuple[str, str, Any]]:
    from streams.protocols.asap.rpc import endpoints

    return endpoints(gateway)


def _play(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    from streams.protocols.asap.scenario import answer

    return answer(context, method, path, query, headers, body)


ASAP = QuerySide(
    name="asap",
    projection=FOLLOWED,
    routes=routes.ROUTES,
    responses=_responses,
    description=_description,
    things=THINGS,
    outcomes={
        "asap:task": OutcomeQuery(
            lambda ids: task_row_key(ids["id"]),
            lambda view, ids: tasks.end_of(view, ids["id"]),
            "completed",
        )
    },
    long_work={"asap:task": LONG_WORK},
    lines=LINES,
    verdicts=VERDICT_FACTS,
    open_work=(TASK_WORK,),
    searched=(
        SearchedRows("asap:task", ROW),
        SearchedRows("asap:envelope", key("asap verdict")),
        SearchedRows("asap:call", key("asap call")),
    ),
    verdict_rows={ASAP_ENVELOPES.name: verdict_key},
    filling=FILLING,
    endpoints=_endpoints,
    play=_play,
)
