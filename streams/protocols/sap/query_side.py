"""The query side of SAP 2.0, for views, the gateway and `query`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.description import Description
from streams.api.query_side import QuerySide
from streams.api.things import OutcomeQuery
from streams.protocols.sap import routes
from streams.protocols.sap.lines import LINES
from streams.protocols.sap.long_work import LONG_WORK
from streams.protocols.sap.queries import tasks
from streams.protocols.sap.queries.rows import FOLLOWED, TASK_WORK, end_key
from streams.protocols.sap.things import THINGS
from streams.protocols.sap.verdicts import VERDICT_FACTS, cache_figures
from streams.views.keys import key
from streams.views.service.search import SearchedRows


def _responses() -> Mapping[str, Any]:
    from streams.protocols.sap.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.sap.openapi import DESCRIPTION

    return DESCRIPTION


def _is_shared_message(task: Any) -> bool:
    target = task.get("target") if isinstance(task, dict) else None
    return isinstance(target, dict) and target.get("agentId") is None


SAP = QuerySide(
    name="sap",
    projection=FOLLOWED,
    routes=routes.ROUTES,
    responses=_responses,
    description=_description,
    things=THINGS,
    outcomes={
        "sap:task": OutcomeQuery(
            lambda ids: end_key(ids["taskId"]),
            lambda view, ids: tasks.end_of(view, ids["taskId"]),
            "SUCCEEDED",
        )
    },
    long_work={"sap:task": LONG_WORK},
    lines=LINES,
    is_shared_message=_is_shared_message,
    verdicts=VERDICT_FACTS,
    open_work=(TASK_WORK,),
    overview={"cache": cache_figures},
    searched=(SearchedRows("sap:task", key("sap ack")),),
)
