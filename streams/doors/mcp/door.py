"""The state that all tools of one gateway share, and one call of a tool."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from streams.doors.mcp.asking import Asker
from streams.doors.mcp.handles import Keys, load_keys
from streams.doors.mcp.tails import Tails
from streams.doors.push.service import PushService
from streams.gateway.context import Gateway
from streams.settings import Settings


@dataclass(frozen=True)
class Door:
    """The gateway, and its routes.

    openapi: makes the OpenAPI document.  simulations: a place for each scenario that runs.
    tails: the ends of the topics that streams follow.
    push: what posts events to addresses, None without a key of gateways.
    new_run_id: makes the id of a run to which the caller gives none.
    """

    gateway: Gateway
    asker: Asker
    openapi: Callable[[], bytes]
    simulations: asyncio.Semaphore = field(repr=False)
    tails: Tails = field(repr=False)
    push: PushService | None = field(default=None, repr=False)
    new_run_id: Callable[[], str] = lambda: f"mcp-{uuid.uuid4()}"

    @cached_property
    def task_keys(self) -> Keys:
        """Return the keys of handles, read once they are needed."""
        return load_keys(self.settings)

    @property
    def settings(self) -> Settings:
        return self.gateway.settings

    def full(self, position: str) -> str:
        """Return a position with the prefix of topics, which clients do not see."""
        return self.settings.prefix + position

    def short(self, position: str) -> str:
        """Return a position as clients see it."""
        return position.removeprefix(self.settings.prefix)


Report = Callable[[int, str], Awaitable[None]]
"""Tells the client how a call gets on: the number of the change, and a few words."""


class Client(NamedTuple):
    """The capabilities of the client of a request.

    takes_tasks: it comes back for what takes long.  takes_input: it can ask its user for input.
    report: None if it does not want to be told how a call gets on.
    """

    takes_tasks: bool = False
    takes_input: bool = False
    report: Report | None = None


class ToolCall(NamedTuple):
    """A call whose arguments are valid, with their defaults.  meta: `_meta` of the request."""

    door: Door
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any]
    client: Client = Client()


def new_door(
    gateway: Gateway, openapi: Callable[[], bytes], push: PushService | None = None
) -> Door:
    places = asyncio.Semaphore(gateway.settings.mcp_simulations)
    return Door(gateway, Asker(gateway), openapi, places, Tails(gateway.log), push)
