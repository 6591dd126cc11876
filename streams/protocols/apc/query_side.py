"""The parts of APC/1.0 that views, the gateway and `query` use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.description import Description
from streams.api.query_side import QuerySide
from streams.protocols.apc import lineage_routes, routes
from streams.protocols.apc.lines import LINES
from streams.protocols.apc.projection import FOLLOWED, PACKETS, decayed_protocols
from streams.protocols.apc.things import THINGS
from streams.protocols.apc.verdicts import VERDICT_FACTS
from streams.views.keys import key
from streams.views.service.search import SearchedRows


def _responses() -> Mapping[str, Any]:
    from streams.protocols.apc.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.apc.openapi import DESCRIPTION

    return DESCRIPTION


APC = QuerySide(
    name="apc",
    projection=FOLLOWED,
    routes=(*routes.ROUTES, *lineage_routes.ROUTES),
    responses=_responses,
    description=_description,
    lines=LINES,
    things=THINGS,
    verdicts=VERDICT_FACTS,
    open_work=(PACKETS,),
    overview={"decayed": decayed_protocols},
    searched=(SearchedRows("apc:packet", key("packet")),),
)
