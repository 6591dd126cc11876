"""The state that all tools of one gateway share, and one call of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.doors.mcp.asking import Asker
from streams.gateway.context import Gateway
from streams.settings import Settings


@dataclass(frozen=True)
class Door:
    """The gateway, and its routes.

    openapi: makes the OpenAPI document.  simulations: a place for each scenario that runs.
    """

    gateway: Gateway
    asker: Asker
    openapi: Callable[[], bytes]
    simulations: asyncio.Semaphore = field(repr=False)

    @property
    def settings(self) -> Settings:
        return self.gateway.settings

    def full(self, position: str) -> str:
        """Return a position with the prefix of topics, which clients do not see."""
        return self.settings.prefix + position

    def short(self, position: str) -> str:
        """Return a position as clients see it."""
        return position.removeprefix(self.settings.prefix)


class ToolCall(NamedTuple):
    """A call whose arguments are valid, with their defaults.  meta: `_meta` of the request."""

    door: Door
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any]


def new_door(gateway: Gateway, openapi: Callable[[], bytes]) -> Door:
    places = asyncio.Semaphore(gateway.settings.mcp_simulations)
    return Door(gateway, Asker(gateway), openapi, places)
