"""The state that all requests to the door of one gateway share, and one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from streams.access.callers import Caller
from streams.api.problems import problem
from streams.api.route import Refused
from streams.doors.a2a.errors import unavailable
from streams.doors.a2a.protocol import Json
from streams.doors.push.service import PushService
from streams.errors import InfrastructureError
from streams.gateway.context import Gateway
from streams.gateway.http_response import RETRY_AFTER
from streams.gateway.slots import count_as_stream
from streams.protocols.summit.rpc import GatewayHost
from streams.settings import Settings
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


@dataclass
class Door:
    """The gateway, and the host of Summit on it, which appends calls and reads rows.

    push: None if no push notifications are sent.
    """

    gateway: Gateway
    push: PushService | None = None
    host: GatewayHost = field(init=False)
    _streams: int = 0

    def __post_init__(self) -> None:
        self.host = GatewayHost(self.gateway)

    @property
    def settings(self) -> Settings:
        return self.gateway.settings

    def enter_stream(self) -> None:
        """Count the current request as a stream, which it may also be by waiting.

        Raises Refused if there are as many as may be.
        """
        limit = self.settings.gateway_max_streams
        if self._streams >= limit:
            refused = problem(429, f"{limit} streams are open", "too_many_requests")
            raise Refused(refused._replace(headers=RETRY_AFTER))
        count_as_stream()
        self._count_streams(1)

    def leave_stream(self) -> None:
        self._count_streams(-1)

    def _count_streams(self, change: int) -> None:
        self._streams += change
        self.gateway.metrics.count_a2a_streams(change)


class Context(NamedTuple):
    """One request to an agent, in either binding.

    agent: SummitAgent, JSON.  headers: of HTTP, by names in small letters.  base: the address of
    the gateway.
    """

    door: Door
    agent: Json
    caller: Caller | None
    headers: Mapping[str, str]
    base: str

    @property
    def agent_id(self) -> str:
        return str(self.agent["agentId"])

    async def read(self, look: Callable[[ReadOnlyStore], T]) -> T:
        """Return `look` applied to the view.  Raises A2aError if the view is not ready."""
        try:
            return await self.door.host.read(look)
        except InfrastructureError as exc:
            raise unavailable(exc.message) from exc
