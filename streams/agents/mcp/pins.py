"""The tools of a bridge as they were registered, held against what the server has now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple

from schemas.canonical import canonical_json
from streams.doors.mcp.foreign_calls import CallFailed, Failure
from streams.doors.mcp.foreign_manifest import TAKEN, manifest_of
from streams.doors.mcp.foreign_server import ServerDescription
from streams.errors import HeadraceError

FRESH_S = 60.0
"""How long the manifest in force is taken to stay as it was read, in seconds."""
Json = dict[str, Any]


class Pin(NamedTuple):
    """A tool as it was registered.  definition: description and schema, as canonical JSON."""

    mcp_name: str
    definition: bytes
    annotations: Json

    def may_be_repeated(self) -> bool:
        """Return whether a second call does no more than the first, as the annotations say."""
        hints = self.annotations.get("readOnlyHint"), self.annotations.get("idempotentHint")
        return True in hints


def pins_of(manifest: Json) -> dict[str, Pin]:
    """Return the tools of a manifest by their names in it."""
    tools = ((manifest["metadata"].get("mcp") or {}).get("tools")) or {}
    return {
        tool["name"]: Pin(
            tools.get(tool["name"], {}).get("mcp", tool["name"]),
            _definition(tool),
            tools.get(tool["name"], {}).get("annotations") or {},
        )
        for tool in manifest["spec"]["tools"]
    }


def pins_by_mcp_name(server: ServerDescription, chosen: Collection[str] = ()) -> dict[str, Pin]:
    """Return the tools of a server that a manifest can have, by their names in MCP.

    chosen: no others are looked at, if there are any.
    """
    _, choices = manifest_of(server, None, None, chosen)
    return {
        each.mcp_name: Pin(each.mcp_name, _definition(each.tool), each.annotations)
        for each in choices
        if each.rule == TAKEN
    }


def _definition(tool: Json) -> bytes:
    return canonical_json([tool["description"], tool["arguments"]])


class Pins:
    """The registered tools of one agent.

    pins: by the name that calls use.  read: returns those of the manifest in force now; None where
    they stay as they are.
    """

    def __init__(
        self,
        pins: Mapping[str, Pin],
        read: Callable[[], Awaitable[Mapping[str, Pin]]] | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pins, self._read, self._now_s = pins, read, now_s
        self._read_at_s = now_s()
        self._reading = asyncio.Lock()
        self._server: ServerDescription | None = None
        self._offered: Mapping[str, Pin] = {}

    @property
    def names(self) -> Collection[str]:
        return self._pins.keys()

    async def find(self, name: str) -> Pin:
        """Return a tool.  Raises CallFailed for one that is not in the manifest in force either."""
        if name not in self._pins:
            await self._refresh()
        return self._get(name)

    def _get(self, name: str) -> Pin:
        pin = self._pins.get(name)
        if pin is None:
            raise CallFailed(Failure.MCP_CHANGED, f"The agent has no tool {name}.")
        return pin

    async def check(self, name: str, server: ServerDescription) -> Pin:
        """Return a tool that the server still has as it was registered.  Raises CallFailed."""
        if self._now_s() - self._read_at_s > FRESH_S:
            await self._refresh()
        if not self._is_same(name, server):
            await self._refresh()
        if self._is_same(name, server):
            return self._get(name)
        message = f"The server's tool {name} is not what was registered; register it anew."
        raise CallFailed(Failure.MCP_CHANGED, message)

    def _is_same(self, name: str, server: ServerDescription) -> bool:
        pin = self._get(name)
        if server is not self._server:
            registered = [each.mcp_name for each in self._pins.values()]
            self._server, self._offered = server, pins_by_mcp_name(server, registered)
        current = self._offered.get(pin.mcp_name)
        return current is not None and current.definition == pin.definition

    async def _refresh(self) -> None:
        """Read the manifest in force; without an answer the former one stands."""
        if self._read is None:
            return
        async with self._reading:
            try:
                self._pins, self._server = await self._read(), None
            except HeadraceError:
                return
            self._read_at_s = self._now_s()
