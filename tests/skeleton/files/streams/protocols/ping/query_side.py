"""Pings as views, the gateway and `query` have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.description import Description
from streams.api.query_side import QuerySide
from streams.protocols.ping.projection import FOLLOWED
from streams.protocols.ping.routes import ROUTES


def _responses() -> Mapping[str, Any]:
    from streams.protocols.ping.responses import RESPONSES

    return RESPONSES


def _description() -> Description:
    from streams.protocols.ping.openapi import DESCRIPTION

    return DESCRIPTION


PING = QuerySide(
    name="ping",
    projection=FOLLOWED,
    routes=ROUTES,
    responses=_responses,
    description=_description,
)
