"""Serves the methods of the Tasks extension, at the versions that have extensions."""

from __future__ import annotations

from typing import Any

import mcp.types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.types import HEADER_MISMATCH
from starlette.requests import Request

from streams.doors.mcp import task_methods, tasks
from streams.doors.mcp.clients import Context, client_of, is_modern
from streams.doors.mcp.door import Client, Door
from streams.doors.mcp.results import Json
from streams.doors.mcp.task_methods import TaskParams, UpdateParams

_TASKS = "tasks/"


def add_methods(server: Server[Any], door: Door) -> None:
    async def get(ctx: Context, params: TaskParams) -> Json:
        return await task_methods.get(door, _client_of(ctx), params.task_id)

    async def update(ctx: Context, params: UpdateParams) -> Json:
        _client_of(ctx)
        return await task_methods.update(door, params)

    async def cancel(ctx: Context, params: TaskParams) -> Json:
        _client_of(ctx)
        return await task_methods.cancel(door, params)

    server.add_request_handler("tasks/get", TaskParams, get)
    server.add_request_handler("tasks/update", UpdateParams, update)
    server.add_request_handler("tasks/cancel", TaskParams, cancel)
    server.middleware.append(_check_name)


def _client_of(ctx: Context) -> Client:
    """Return the client.  Raises MCPError for one that knows no tasks."""
    if not is_modern(ctx):
        raise MCPError(types.METHOD_NOT_FOUND, f"there is no method {ctx.method}")
    client = client_of(ctx)
    tasks.require_extension(client)
    return client


async def _check_name(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Check the header that repeats the task's id, as the SDK does for other methods."""
    if ctx.method.startswith(_TASKS) and isinstance(ctx.request, Request):
        task_id = (ctx.params or {}).get("taskId")
        header = decode_header_value(ctx.request.headers.get(MCP_NAME_HEADER))
        if header is not None and header != task_id:
            detail = f"the header {MCP_NAME_HEADER} is another than params.taskId"
            raise MCPError(HEADER_MISMATCH, detail)
    return await call_next(ctx)
