"""The query side of spans, for views, the gateway and `query`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.description import Description
from streams.api.query_side import QuerySide
from streams.protocols.otel.lines import LINES
from streams.protocols.otel.queries.rows import FOLLOWED
from streams.protocols.otel.routes import ROUTES
from streams.protocols.otel.things import THINGS
from streams.protocols.otel.verdicts import VERDICT_FACTS


def _responses() -> Mapping[str, Any]:
    from streams.protocols.otel.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.otel.openapi import DESCRIPTION

    return DESCRIPTION


OTEL = QuerySide(
    name="otel",
    projection=FOLLOWED,
    routes=ROUTES,
    responses=_responses,
    description=_description,
    things=THINGS,
    lines=LINES,
    verdicts=VERDICT_FACTS,
)
