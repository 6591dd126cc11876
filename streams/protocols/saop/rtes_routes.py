"""The routes of sessions, their events and their calls (SAOP guide, 6.1)."""

from __future__ import annotations

from streams.api.route import Produce, Query, Route
from streams.protocols.saop.queries import lists
from topology.core import RTES_RAW

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/rtes/events",
        "send_events",
        Produce(RTES_RAW),
        "send events",
        body="rtes/event",
    ),
    Route(
        "GET",
        "/v1/rtes/events",
        "list_events",
        Query(lambda call: lists.events(call.view, call.params)),
        "the events of a session, by sequence",
        lists.EVENT_PARAMS,
        "Events",
    ),
    Route(
        "GET",
        "/v1/rtes/calls",
        "list_calls",
        Query(lambda call: lists.calls(call.view, call.params)),
        "the tool calls of a session",
        lists.CALL_PARAMS,
        "Calls",
    ),
    Route(
        "GET",
        "/v1/rtes/rejections",
        "list_rejections",
        Query(lambda call: lists.rejections(call.view, call.params)),
        "duplicate and rejected events of a session",
        lists.REJECTION_PARAMS,
        "Rejections",
    ),
)
