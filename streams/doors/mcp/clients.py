"""The capabilities that the client of a request has declared."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from streams.doors.mcp import tasks
from streams.doors.mcp.door import Client

Context = ServerRequestContext[Any, Any]


def is_modern(ctx: Context) -> bool:
    """Return whether the version has the methods of extensions."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def client_of(ctx: Context) -> Client:
    """Return what the client has declared, and how it is told of progress if it wants that."""
    capabilities = ctx.session.client_capabilities
    extensions = {} if capabilities is None else capabilities.extensions or {}
    wants_progress = "progress_token" in (ctx.meta or {})

    async def report(count: int, message: str) -> None:
        await ctx.session.report_progress(count, None, message)

    return Client(
        takes_tasks=is_modern(ctx) and tasks.EXTENSION in extensions,
        takes_input=capabilities is not None and capabilities.elicitation is not None,
        report=report if wants_progress else None,
    )
