"""The routes of pings."""

from __future__ import annotations

from typing import Any

from streams.api.route import Call, Produce, Query, Route
from streams.errors import NotFound
from streams.protocols.ping.projection import NAME
from streams.views.values import json_of
from topology.ping import PING_PINGS, PING_STATES


def _ping(call: Call) -> Any:
    row = call.view.get(NAME, call.ids["ping_id"])
    if row is None:
        raise NotFound(f"there is no ping {call.ids['ping_id']}")
    return json_of(PING_STATES, row)


ROUTES: tuple[Route, ...] = (
    Route("POST", "/v1/ping/pings", "send_pings", Produce(PING_PINGS), "send pings"),
    Route("GET", "/v1/ping/pings/{ping_id}", "get_ping", Query(_ping), "a ping", answer="Ping"),
)
