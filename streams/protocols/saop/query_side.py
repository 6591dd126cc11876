"""The query side of SAOP and RTES, for views, the gateway and `query`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.rtes.models import NAMES
from streams.api.description import Description
from streams.api.query_side import LiveTail, QuerySide
from streams.protocols.saop import routes, rtes_routes
from streams.protocols.saop.filling import FILLING
from streams.protocols.saop.lines import LINES
from streams.protocols.saop.queries.rows import FOLLOWED
from streams.protocols.saop.queries.sessions import TASK_WORK
from streams.protocols.saop.things import THINGS
from streams.protocols.saop.verdicts import VERDICT_FACTS, count_escalations
from streams.views.keys import key
from streams.views.service.search import SearchedRows
from topology.saop import RTES_EVENTS


def _responses() -> Mapping[str, Any]:
    from streams.protocols.saop.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.saop.openapi import DESCRIPTION

    return DESCRIPTION


SAOP = QuerySide(
    name="saop",
    projection=FOLLOWED,
    routes=(*rtes_routes.ROUTES, *routes.ROUTES),
    responses=_responses,
    description=_description,
    things=THINGS,
    lines=LINES,
    verdicts=VERDICT_FACTS,
    open_work=(TASK_WORK,),
    overview={"escalations": count_escalations},
    searched=(
        SearchedRows("saop:task", key("task of")),
        SearchedRows("saop:session", key("saop session")),
        SearchedRows("saop:rewind", key("rewind of")),
    ),
    filling=FILLING,
    live_tail=LiveTail(RTES_EVENTS, tuple(NAMES.values())),
)
