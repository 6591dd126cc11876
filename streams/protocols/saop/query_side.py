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
    lines=LINES,
    filling=FILLING,
    live_tail=LiveTail(RTES_EVENTS, tuple(NAMES.values())),
)
