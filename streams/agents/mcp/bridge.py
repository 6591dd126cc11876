"""A bridge at work: the connection to the server, and the agents that call it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams.agents.cursor_file import file_stem
from streams.agents.mcp.asap import AsapBridge, manifest_of_urn, register
from streams.agents.mcp.journal import CallJournal, journal_path
from streams.agents.mcp.pins import Pin, Pins, pins_by_mcp_name, pins_of
from streams.agents.mcp.registered import manifest_in_force
from streams.agents.mcp.summit import SummitBridge
from streams.client import Client
from streams.doors.mcp.foreign_manifest import manifest_of
from streams.doors.mcp.foreign_server import ServerDescription
from streams.doors.mcp.foreign_session import ForeignSession
from streams.doors.mcp.foreign_stderr import ShowLine
from streams.settings import Settings
from streams.summit.serving.serve import serve_agent

Json = dict[str, Any]


class BridgeOptions(NamedTuple):
    """The options of a bridge.

    source: an address or a command line.  env: names of variables for the command.  summit: the
    agent's id.  register: register its manifest first.  asap: the agent's URN.  timeout_s: how long
    a call may take.  concurrency: calls at a time, of each agent.
    """

    source: str
    env: Sequence[str]
    summit: str | None
    register: bool
    asap: str | None
    timeout_s: float
    concurrency: int


class Bridge:
    """One process of a bridge.

    show: called with each line of the server's standard error.  say: called with what is bridged,
    once all agents are at work.  warn: called when the server is lost.  stop: once it is set, no
    call is begun, and `run` returns when all are answered.
    """

    def __init__(
        self,
        options: BridgeOptions,
        settings: Settings,
        show: ShowLine,
        say: Callable[[str], object],
        warn: Callable[[str], object],
        stop: asyncio.Event,
    ) -> None:
        self._options, self._settings = options, settings
        self._say, self._warn, self._stop = say, warn, stop
        self._session = ForeignSession(
            options.source, options.env, settings.mcp_bridge_token, show, self._on_lost
        )
        self._was_connected = False
        self._not_ready = [name for name in (options.summit, options.asap) if name is not None]

    def _on_lost(self, error: str) -> None:
        if self._was_connected and not self._stop.is_set():
            self._warn(f"the MCP server is lost: {error}; it is reached again")

    @property
    def is_ready(self) -> bool:
        """Return whether all agents are at work."""
        return not self._not_ready

    async def run(self) -> None:
        """Bridge until stopped.

        Raises ServerUnreachable when the server is not there at the start, NotFound for an agent
        that is not registered, ManifestRejected, InvalidInput, StateLocked, BrokerUnavailable.
        """
        connecting = asyncio.create_task(self._session.run())
        try:
            server = await self._session.connect()
            self._was_connected = True
            await self._serve(server)
        finally:
            connecting.cancel()
            await asyncio.wait({connecting})

    async def _serve(self, server: ServerDescription) -> None:
        agents = []
        if self._options.summit is not None:
            agents.append(self._serve_summit(self._options.summit, server))
        if self._options.asap is not None:
            agents.append(self._serve_asap(self._options.asap, server))
        await _until_all_end(agents)

    async def _serve_summit(self, agent_id: str, server: ServerDescription) -> None:
        manifest = await self._summit_manifest(agent_id, server)
        pins = pins_of(manifest)

        async def read() -> dict[str, Pin]:
            return pins_of(await asyncio.to_thread(manifest_in_force, agent_id, self._settings))

        journal = CallJournal(journal_path(agent_id, self._settings.state_dir))
        try:
            bridge = SummitBridge(self._session, journal, Pins(pins, read), self._options.timeout_s)
            await serve_agent(
                manifest,
                bridge.invoke,
                tools=bridge.tools,
                register=self._options.register,
                concurrency=self._options.concurrency,
                stop=self._stop,
                settings=self._settings,
                on_ready=lambda: self._on_ready(agent_id, server, pins),
                on_answered=journal.finish,
            )
        finally:
            journal.close()

    async def _summit_manifest(self, agent_id: str, server: ServerDescription) -> Json:
        if not self._options.register:
            return await asyncio.to_thread(manifest_in_force, agent_id, self._settings)
        return manifest_of(server, agent_id, None)[0]

    async def _serve_asap(self, urn: str, server: ServerDescription) -> None:
        pins = pins_by_mcp_name(server)
        manifest = manifest_of_urn(urn, server, [*pins], self._settings.gateway)
        journal = CallJournal(journal_path(urn, self._settings.state_dir))
        try:
            bridge = AsapBridge(
                urn,
                self._session,
                journal,
                Pins(pins),
                _cursor_file(urn, self._settings),
                timeout_s=self._options.timeout_s,
                open_s=self._settings.asap_call_timeout_seconds,
                concurrency=self._options.concurrency,
                stop=self._stop,
            )
            async with Client(settings=self._settings) as client:
                await register(client, manifest)
                await bridge.run(client, lambda: self._on_ready(urn, server, pins))
        finally:
            journal.close()

    def _on_ready(self, agent: str, server: ServerDescription, pins: dict[str, Pin]) -> None:
        """Say so once all agents are ready."""
        if agent not in self._not_ready:
            return
        self._not_ready.remove(agent)
        if not self._not_ready:
            names = [each for each in (self._options.summit, self._options.asap) if each]
            served = {each.mcp_name for each in pins.values()}
            left_out = [tool for tool in server.tools if tool["name"] not in served]
            self._say(
                f"bridging {server.name} {server.version} ({server.protocol_version})"
                f" as {', '.join(names)}; {len(served)} tools, {len(left_out)} left out"
            )


async def _until_all_end(agents: list[Any]) -> None:
    """Run the agents; when one fails, the other ends, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(agent)
    except BaseExceptionGroup as group_error:
        error: BaseException = group_error
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group_error


def _cursor_file(urn: str, settings: Settings) -> Path:
    return settings.state_dir / "mcp-bridge" / f"{file_stem(urn)}.cursor"
