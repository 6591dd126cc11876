"""Serves the methods of webhooks."""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel import Server

from streams.doors.mcp.clients import Context
from streams.doors.mcp.door import Door
from streams.doors.mcp.results import Json
from streams.doors.mcp.webhooks import SubscribeParams, UnsubscribeParams, subscribe, unsubscribe


def add_methods(server: Server[Any], door: Door) -> None:
    async def answer_subscribe(ctx: Context, params: SubscribeParams) -> Json:
        return await subscribe(door, params)

    async def answer_unsubscribe(ctx: Context, params: UnsubscribeParams) -> Json:
        return await unsubscribe(door, params)

    server.add_request_handler("events/subscribe", SubscribeParams, answer_subscribe)
    server.add_request_handler("events/unsubscribe", UnsubscribeParams, answer_unsubscribe)
