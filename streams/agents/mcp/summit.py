"""A Summit agent whose runs are calls of a real MCP server's tools."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from streams.agents.mcp.calling import check_repeatable, described
from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pin, Pins
from streams.doors.mcp.foreign_calls import CallFailed
from streams.doors.mcp.foreign_server import ServerDescription
from streams.doors.mcp.foreign_session import ForeignSession
from streams.summit.errors import AgentError
from streams.summit.serving.handlers import AgentResult
from streams.summit.serving.job import Handler
from streams.summit.serving.run import Run

PROGRESS_EVERY_S = 1.0
Json = dict[str, Any]


class SummitBridge:
    """The handlers of the agent.

    timeout_s: how long a call may take, if its run has no less time left.
    """

    def __init__(
        self, session: ForeignSession, journal: CallJournal, pins: Pins, timeout_s: float
    ) -> None:
        self._session, self._journal, self._pins = session, journal, pins
        self._timeout_s = timeout_s

    @property
    def tools(self) -> dict[str, Handler]:
        """Return one function for each tool, those that a later manifest has too."""
        functions = _Functions(self._call)
        functions.update({name: functions[name] for name in self._pins.names})
        return functions

    async def invoke(self, inputs: Json, run: Run) -> AgentResult:
        """Call the tool that the inputs name."""
        return await self._call(inputs["tool"], inputs["arguments"], run)

    async def _call(self, name: str, arguments: Json, run: Run) -> AgentResult:
        provenance: Json = {}
        try:
            check_repeatable(self._journal, run.run_id, await self._pins.find(name))
            server = await described(self._session)
            pin = await self._pins.check(name, server)
            provenance = {"mcp": _provenance(server, pin)}
            await self._journal.begin(run.run_id)
            output = await self._session.call_tool(
                pin.mcp_name,
                arguments,
                min(self._timeout_s, run.due_at.timestamp() - time.time()),
                on_progress=_progress_of(run),
                traceparent=run.traceparent,
            )
        except CallFailed as exc:
            data = {"reason": exc.failure.reason, **exc.data}
            raise AgentError(exc.failure, str(exc), data, provenance) from exc
        return AgentResult(output, provenance=provenance)


class _Functions(dict[str, Handler]):
    """The function of each tool.  call: takes the tool's name first."""

    def __init__(self, call: Callable[..., Coroutine[Any, Any, AgentResult]]) -> None:
        super().__init__()
        self._call = call

    def __missing__(self, name: str) -> Handler:
        return partial(self._call, name)


def _provenance(server: ServerDescription, pin: Pin) -> Json:
    return {
        "server": server.name,
        "version": server.version,
        "protocolVersion": server.protocol_version,
        "tool": pin.mcp_name,
    }


def _progress_of(run: Run) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return what passes progress on to a run, once a second at most."""
    last_s = float("-inf")

    async def pass_on(progress: float, total: float | None, message: str | None) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= PROGRESS_EVERY_S:
            last_s = time.monotonic()
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            run.progress(share if message is None else f"{share}: {message}"[:2000])

    return pass_on
