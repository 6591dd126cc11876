"""The Events extension: `events/list` and `events/poll`, and the tool `events` for other hosts.

The wire shapes are here alone, so that those of the SDK can take their place when it has them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp.types as types
from jsonschema_rs import Draft202012Validator
from pydantic import Field

from streams.api.problems import error_response
from streams.api.route import Refused
from streams.doors.mcp import event_types
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.event_types import EventType
from streams.doors.mcp.polling import Polled, oldest_of, poll
from streams.doors.mcp.results import Json, ToolRefused, refused, refused_by, tool_result
from streams.doors.mcp.wire import refusal_error
from streams.errors import HeadraceError
from streams.gateway.caller import get_caller
from streams.gateway.endpoints import require_broker
from streams.gateway.log_reads import read_log

EXTENSION = "io.modelcontextprotocol/events"
CAPABILITY: Json = {"listChanged": False}
MOST_EVENTS = 1000
POLL, PUSH, WEBHOOK = "poll", "push", "webhook"
"""The modes in which events are delivered."""


class PollParams(types.RequestParams):
    """The parameters of `events/poll`."""

    name: str
    arguments: dict[str, Any] | None = None
    cursor: str | None = None
    max_events: int = Field(default=100, alias="maxEvents", ge=1, le=MOST_EVENTS)
    max_age_ms: int | None = Field(default=None, alias="maxAgeMs", ge=0)


def offers_webhooks(door: Door) -> bool:
    """Return whether events are posted to addresses: to principals of tokens alone."""
    return door.push is not None and door.gateway.tokens is not None


def list_events(door: Door) -> Json:
    """Return the types that the caller's roles allow."""
    caller = get_caller()
    modes = [POLL, PUSH, WEBHOOK] if offers_webhooks(door) else [POLL, PUSH]
    return {"events": [_describe(each, modes) for each in event_types.TYPES if each.is_for(caller)]}


def _describe(kind: EventType, modes: list[str]) -> Json:
    return {
        "name": kind.name,
        "description": kind.description,
        "delivery": modes,
        "inputSchema": kind.takes,
        "payloadSchema": {"type": "object"},
    }


async def answer_poll(door: Door, params: PollParams) -> Json:
    """Return the result of `events/poll`.  Raises MCPError."""
    try:
        polled = await poll_once(
            door,
            params.name,
            params.arguments or {},
            params.cursor,
            params.max_events,
            params.max_age_ms,
        )
    except ToolRefused as exc:
        raise refusal_error(exc) from exc
    return polled.to_json(door.settings.mcp_poll_ms)


async def poll_once(
    door: Door,
    name: str,
    arguments: Json,
    cursor: str | None,
    limit: int,
    max_age_ms: int | None = None,
) -> Polled:
    """Return the events from a cursor on.  Raises ToolRefused."""
    kind, narrowed = check_request(name, arguments)
    gateway = door.gateway
    oldest = oldest_of(gateway, max_age_ms)
    try:
        require_broker(gateway)
        polled = await read_log(
            gateway, lambda: poll(gateway, kind, narrowed, cursor, limit, oldest)
        )
    except Refused as exc:
        raise refused_by(exc.response) from exc
    except HeadraceError as exc:
        raise refused_by(error_response(exc)) from exc
    gateway.metrics.count_mcp_events(POLL, len(polled.events))
    if polled.has_more and len(polled.events) < limit:
        gateway.metrics.count_mcp_scan_cut()
    return polled


def check_request(name: str, arguments: Json) -> tuple[EventType, event_types.Arguments]:
    """Return a type of events, and the arguments narrowed to those that the caller may have.

    Raises ToolRefused.
    """
    kind = _find_type(name)
    for error in Draft202012Validator(kind.takes).iter_errors(arguments):
        raise refused(422, error.message, "event_arguments", "/arguments")
    return kind, event_types.for_caller(kind, arguments, get_caller())


def _find_type(name: str) -> EventType:
    """Return the type of events that the caller may have.  Raises ToolRefused."""
    kind = event_types.BY_NAME.get(name)
    if kind is None or not kind.is_for(get_caller()):
        raise refused(404, f"the caller has no events {name}", "event_unknown", "/name")
    return kind


async def run_tool(call: ToolCall) -> Json:
    """Return what `events/poll` would, once there is an event or the wait is over.

    Then `hasMore` may be true without events: the cursor goes on behind what was looked at.
    """
    arguments, door = call.arguments, call.door
    interval_s = door.settings.mcp_poll_ms / 1000
    loop = asyncio.get_running_loop()
    deadline = loop.time() + min(arguments["wait_s"], 60)
    cursor = arguments.get("cursor")
    while True:
        polled = await poll_once(
            door, arguments["name"], arguments["arguments"], cursor, arguments["maxEvents"]
        )
        left_s = deadline - loop.time()
        if polled.events or polled.truncated or left_s <= 0:
            return tool_result(polled.to_json(door.settings.mcp_poll_ms))
        cursor = polled.cursor
        if not polled.has_more:
            await asyncio.sleep(min(interval_s, left_s))
