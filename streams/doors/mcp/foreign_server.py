"""Real MCP servers, asked by the official client what they are."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from mcp import Client, Implementation, StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from streams.access.callers import bearer
from streams.doors.mcp import foreign_stdio
from streams.doors.mcp.foreign_http import MOST_BYTES, make_client
from streams.doors.mcp.foreign_stderr import ShowLine, stderr_lines
from streams.doors.mcp.foreign_watch import ServerWatch, watched
from streams.errors import InfrastructureError, UsageError
from streams.settings import PREFIX, environment_without

CONNECT_S = 60.0
"""How long a server may take to start and to list its tools, in seconds."""
MAX_TOOLS = 1000
"""How many tools of a server are looked at, and how many pages at most."""
_NO_SERVER = "{!r} is neither an address nor a command"


class ServerUnreachable(InfrastructureError):
    """A server does not start, does not answer, or does not speak the protocol."""

    default_advice = "Run its command by hand, or check its address and HEADRACE_MCP_BRIDGE_TOKEN."


class ServerDescription(NamedTuple):
    """The description of a server.  tools: in MCP's own form, in the server's order."""

    name: str
    version: str
    title: str | None
    instructions: str | None
    protocol_version: str
    tools: Sequence[dict[str, Any]]


def target_of(source: str, env: Sequence[str] = ()) -> str | StdioServerParameters:
    """Return what the client connects to: an address, or a command to run.

    env: names of variables that the command gets besides those that the SDK passes on.
    Raises UsageError for no command, an unset variable, or one of headrace's own.
    """
    if source.startswith(("http://", "https://")):
        if env:
            raise UsageError("--env is for servers that are started, not for an address")
        return source
    try:
        command, *arguments = shlex.split(source)
    except ValueError as exc:
        raise UsageError(_NO_SERVER.format(source)) from exc
    return StdioServerParameters(command=command, args=arguments, env=_passed_on(env))


def _passed_on(names: Sequence[str]) -> dict[str, str]:
    variables = environment_without(PREFIX)
    for name in names:
        if name.upper().startswith(PREFIX):
            raise UsageError(f"--env {name}: settings of headrace are not passed to servers")
        if name not in variables:
            raise UsageError(f"--env {name}: it is not set")
    return {name: variables[name] for name in names}


def describe(
    source: str, env: Sequence[str] = (), token: str | None = None, show: ShowLine = str
) -> ServerDescription:
    """Ask a server what it is, and for all pages of its tools.

    token: a bearer token, sent to an address only.  show: called with each line that a command
    writes to its standard error, control characters included.  Raises UsageError as `target_of`,
    ServerUnreachable.
    """
    target = target_of(source, env)
    try:
        return asyncio.run(asyncio.wait_for(_describe(target, token, show), CONNECT_S))
    except Exception as exc:  # the SDK raises what its transports do, also in groups
        raise ServerUnreachable(
            f"the MCP server {source!r} is not reached: {first_error(exc)}"
        ) from exc


async def _describe(
    target: str | StdioServerParameters, token: str | None, show: ShowLine
) -> ServerDescription:
    async with connected(target, token, show) as client:
        return await ask(client)


async def ask(client: Client) -> ServerDescription:
    """Ask a connected server what it is, and for all pages of its tools."""
    info = client.server_info or Implementation(name="mcp", version="")
    version = client.protocol_version
    tools = await _tools(client)
    return ServerDescription(
        info.name, info.version, info.title, client.instructions, version, tools
    )


@asynccontextmanager
async def connected(
    target: str | StdioServerParameters,
    token: str | None,
    show: ShowLine,
    watch: ServerWatch | None = None,
) -> AsyncIterator[Client]:
    """Connect to a server, which is started first if it is a command.

    watch: for a connection that stays: it observes the server, and the bound on what is read holds
    for each response or line of it, instead of all together.
    """
    if isinstance(target, str):
        async with (
            make_client(bearer(token), lasting=watch is not None) as http,
            Client(
                _observed(streamable_http_client(target, http_client=http), watch), cache=None
            ) as client,
        ):
            yield client
    else:
        bounded = _bounded(target, each_line=watch is not None)
        async with (
            stderr_lines(show) as errlog,
            Client(_observed(stdio_client(bounded, errlog), watch), cache=None) as client,
        ):
            yield client


def _observed(transport: Transport, watch: ServerWatch | None) -> Transport:
    return transport if watch is None else watched(transport, watch)


def _bounded(target: StdioServerParameters, each_line: bool) -> StdioServerParameters:
    """Return the parameters that start the same server, of whose output so much is read.

    Raises FileNotFoundError for a command that there is not.
    """
    if shutil.which(target.command) is None:
        raise FileNotFoundError(f"there is no command {target.command!r}")
    whole = [target.command, *target.args]
    command, *arguments = foreign_stdio.command_of(MOST_BYTES, whole, each_line=each_line)
    return target.model_copy(update={"command": command, "args": arguments})


async def _tools(client: Client) -> list[dict[str, Any]]:
    """Return the tools of all pages, MAX_TOOLS at most."""
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MAX_TOOLS):  # pages may be empty
        page = await client.list_tools(cursor=cursor)
        tools += [each.model_dump(by_alias=True, exclude_none=True) for each in page.tools]
        if page.next_cursor in (None, cursor) or len(tools) >= MAX_TOOLS:
            break
        cursor = page.next_cursor
    return tools[:MAX_TOOLS]


def first_error(exc: BaseException) -> str:
    """Return what an error of the SDK says, which may stand in groups."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return str(exc) or type(exc).__name__
