"""A real MCP server that stays connected, is reached again when it is lost, and is called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn, TypeVar

from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, CallToolResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from streams.doors.mcp.foreign_calls import (
    CallFailed,
    Failure,
    raise_input_required,
    resource_content,
    tool_output,
)
from streams.doors.mcp.foreign_server import (
    CONNECT_S,
    ServerDescription,
    ServerUnreachable,
    ask,
    connected,
    first_error,
    target_of,
)
from streams.doors.mcp.foreign_stderr import ShowLine
from streams.doors.mcp.foreign_watch import ServerWatch

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""How long after a failure the server is started or reached again."""
LIST_AGAIN_S, LIST_PAUSE_S = 60.0, 1.0
"""How long after a listing the tools are listed again, and at least when they change at once."""
RETURN_S = 10.0
"""How long a call waits for a server that is being started or reached again."""
_INTERNAL_ERROR = -32603
Json = dict[str, Any]
T = TypeVar("T")


class _Connection:
    """A client that is connected, with what is observed of its server."""

    def __init__(self, client: Client, watch: ServerWatch, server: ServerDescription) -> None:
        self.client, self.watch, self.server = client, watch, server


class ForeignSession:
    """The connection to one server, which `run` keeps; used in one event loop.

    source, env, token, show: as those of `foreign_server.describe`.  on_lost: called with what is
    wrong each time that the server is lost or not reached.  Raises UsageError as `target_of`.
    """

    def __init__(
        self,
        source: str,
        env: Sequence[str],
        token: str | None,
        show: ShowLine,
        on_lost: Callable[[str], object] = str,
    ) -> None:
        self._source, self._target = source, target_of(source, env)
        self._token, self._show, self._on_lost = token, show, on_lost
        self._connection: _Connection | None = None
        self._is_connected = asyncio.Event()
        self._was_tried = asyncio.Event()
        self._error = ""

    async def run(self) -> None:
        """Connect, and connect again whenever the server is lost, until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with asyncio.timeout(CONNECT_S) as limit:
                    watch = ServerWatch()
                    async with connected(self._target, self._token, self._show, watch) as client:
                        self._connection = _Connection(client, watch, await ask(client))
                        limit.reschedule(None)
                        self._is_connected.set()
                        self._was_tried.set()
                        pause_s = FIRST_PAUSE_S
                        async with _listening(client, watch):
                            await self._keep_listed(self._connection)
                self._error = "the connection ended"
            except Exception as exc:  # the SDK raises what its transports do, also in groups
                self._error = first_error(exc)
            finally:
                self._is_connected.clear()
                self._connection = None
            self._was_tried.set()
            self._on_lost(self._error)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _keep_listed(self, connection: _Connection) -> None:
        """List the tools again when they have changed, and from time to time; end with the server.

        Raises what the SDK does when the server does not answer.
        """
        watch = connection.watch
        while not watch.closed:
            with suppress(TimeoutError):
                await asyncio.wait_for(watch.news.wait(), LIST_AGAIN_S)
            if not watch.closed:
                watch.news.clear()
                async with asyncio.timeout(CONNECT_S):
                    connection.server = await ask(connection.client)
                await asyncio.sleep(LIST_PAUSE_S)

    async def connect(self) -> ServerDescription:
        """Return what the server is, once `run` has connected for the first time.

        Raises ServerUnreachable when that fails.
        """
        await self._was_tried.wait()
        if (connection := self._connection) is None:
            raise ServerUnreachable(
                f"the MCP server {self._source!r} is not reached: {self._error}"
            )
        return connection.server

    async def describe(self, timeout_s: float) -> ServerDescription:
        """Return what the server was when its tools were listed last.

        Raises ServerUnreachable when it is not connected in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return (await self._connected()).server
        except TimeoutError as exc:
            message = f"the MCP server {self._source!r} is not reached within {timeout_s:g} s"
            raise ServerUnreachable(message) from exc

    async def _connected(self) -> _Connection:
        while (connection := self._connection) is None or connection.watch.closed:
            self._is_connected.clear()
            await self._is_connected.wait()
        return connection

    async def call_tool(
        self,
        name: str,
        arguments: Json,
        timeout_s: float,
        *,
        on_progress: ProgressFnT | None = None,
        traceparent: str | None = None,
    ) -> Json:
        """Call a tool by its name in MCP and return its result as JSON.

        traceparent: W3C trace context, which goes on in `_meta`.  Raises CallFailed.
        """
        meta: Any = {} if traceparent is None else {"traceparent": traceparent}

        async def call(client: Client) -> Any:
            return await client.session.call_tool(
                name,
                arguments,
                progress_callback=on_progress,
                meta=meta,
                allow_input_required=True,
            )

        result = await self._ask(call, timeout_s)
        if isinstance(result, InputRequiredResult):
            raise_input_required()
        assert isinstance(result, CallToolResult), "no extension claims results"
        return tool_output(result)

    async def read_resource(self, uri: str, timeout_s: float) -> Json:
        """Read a resource and return its contents as JSON.  Raises CallFailed."""

        async def read(client: Client) -> Any:
            return await client.session.read_resource(uri, allow_input_required=True)

        result = await self._ask(read, timeout_s)
        if isinstance(result, InputRequiredResult):
            raise_input_required()
        return resource_content(result)

    async def _ask(self, request: Callable[[Client], Awaitable[T]], timeout_s: float) -> T:
        """Ask the server, within a time that includes what it takes to be connected."""
        connection = await self._connected_for_call(min(timeout_s, RETURN_S))
        watch = connection.watch
        requests = watch.requests
        try:
            async with asyncio.timeout(timeout_s):
                result = await request(connection.client)
        except TimeoutError as exc:
            message = f"The server did not answer within {timeout_s:g} s."
            raise CallFailed(Failure.MCP_TIMEOUT, message) from exc
        except MCPError as exc:
            if exc.code == CONNECTION_CLOSED and watch.closed:
                _raise_unreachable(exc)
            if watch.requests > requests:
                raise_input_required()
            raise _error(exc.code, exc.message) from exc
        except (ValueError, RuntimeError) as exc:  # the result breaks the protocol or its schema
            raise _error(_INTERNAL_ERROR, str(exc)) from exc
        except Exception as exc:  # of the transport
            watch.close()
            _raise_unreachable(exc)
        if watch.requests > requests and getattr(result, "is_error", False):
            raise_input_required()
        return result

    async def _connected_for_call(self, timeout_s: float) -> _Connection:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._connected()
        except TimeoutError as exc:
            _raise_unreachable(exc)


@asynccontextmanager
async def _listening(client: Client, watch: ServerWatch) -> AsyncIterator[None]:
    """Have the server say when its tools change; those of older versions do so unasked."""
    listening = asyncio.create_task(_listen(client, watch))
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.wait({listening})


async def _listen(client: Client, watch: ServerWatch) -> None:
    """Hold a `subscriptions/listen` open, if the server has it; what it sends passes the watch."""
    tools = client.server_capabilities.tools
    is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
    while is_modern and tools is not None and tools.list_changed:
        with suppress(MCPError, SubscriptionLost):
            async with client.listen(tools_list_changed=True) as events:
                watch.news.set()  # the tools may have changed since they were listed
                async for _ in events:
                    pass
        await asyncio.sleep(LIST_AGAIN_S)


def _raise_unreachable(exc: BaseException) -> NoReturn:
    message = f"The server is not there: {first_error(exc)}."
    raise CallFailed(Failure.MCP_UNREACHABLE, message) from exc


def _error(code: int, message: str) -> CallFailed:
    return CallFailed(Failure.MCP_ERROR, message, {"code": code, "message": message[:2000]})
