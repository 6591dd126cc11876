"""The query side of Summit v1, for views, the gateway, `query` and `play`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.api.description import Description
from streams.api.problems import Response
from streams.api.query_side import PlayContext, QuerySide
from streams.api.things import Gate, OutcomeQuery
from streams.protocols.summit import routes
from streams.protocols.summit.agent_tools import TOOLS
from streams.protocols.summit.lines import LINES
from streams.protocols.summit.long_work import LONG_WORK
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.rows import FOLLOWED, OF_RUN, RUN_WORK
from streams.protocols.summit.things import THINGS
from streams.protocols.summit.verdicts import VERDICT_FACTS
from streams.views.service.search import SearchedRows


def _responses() -> Mapping[str, Any]:
    from streams.protocols.summit.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.summit.openapi import DESCRIPTION

    return DESCRIPTION


def _endpoints(gateway: Any) -> Sequence[tuple[str, str, Any]]:
    from streams.protocols.summit.rpc import endpoints

    return endpoints(gateway)


def _play(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    from streams.protocols.summit.scenario import answer

    return answer(context, method, path, query, headers, body)


SUMMIT = QuerySide(
    name="summit",
    projection=FOLLOWED,
    routes=routes.ROUTES,
    responses=_responses,
    description=_description,
    things=THINGS,
    outcomes={
        "summit:run": OutcomeQuery(
            lambda ids: runs.end_row(ids["runId"]),
            lambda view, ids: runs.result(view, ids["runId"]),
            "completed",
            Gate(
                lambda settings: bool(settings.summit_judge_gate),
                lambda ids: runs.run_row(ids["runId"]),
                lambda view, ids: runs.judged_result(view, ids["runId"]),
            ),
        )
    },
    long_work={"summit:run": LONG_WORK},
    lines=LINES,
    verdicts=VERDICT_FACTS,
    open_work=(RUN_WORK,),
    searched=(SearchedRows("summit:run", OF_RUN),),
    agent_tools=TOOLS,
    endpoints=_endpoints,
    play=_play,
)
