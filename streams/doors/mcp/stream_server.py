"""Serves the methods whose answers are streams."""

from __future__ import annotations

from typing import Any

import mcp.types as types
from mcp.server.lowlevel import Server

from streams.doors.mcp.clients import Context, client_of, is_modern
from streams.doors.mcp.door import Door
from streams.doors.mcp.listening import listen
from streams.doors.mcp.notifying import Notifier
from streams.doors.mcp.results import Json
from streams.doors.mcp.streaming import StreamParams, stream_events

_ENDED: Json = {"resultType": "complete"}


def add_methods(server: Server[Any], door: Door) -> None:
    async def stream(ctx: Context, params: StreamParams) -> Json:
        await stream_events(door, params, Notifier(ctx))
        return _ENDED if is_modern(ctx) else {}

    async def subscribe(ctx: Context, params: types.SubscriptionsListenRequestParams) -> Json:
        send = Notifier(ctx)
        await listen(door, client_of(ctx), params.notifications, send)
        return {**_ENDED, "_meta": send.meta}

    server.add_request_handler("events/stream", StreamParams, stream)
    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, subscribe
    )
