"""The side of the door that the sender of webhooks asks.

The SDK is loaded with the endpoint, so that the first event waits for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from streams.access.callers import Caller
from streams.doors.mcp import event_types
from streams.doors.mcp.event_types import Arguments, EventType
from streams.doors.mcp.results import ToolRefused
from streams.doors.mcp.webhook_messages import make_farewell
from streams.doors.push.courier import Courier, Message
from streams.doors.push.service import PushService
from streams.doors.push.subscriptions import Subscription

if TYPE_CHECKING:
    from streams.doors.mcp.door import Door


class Narrowed(NamedTuple):
    """The events that a subscription is owed.  arguments: narrowed to what its principal may have.

    caller: the principal with its roles now; None where no tokens are needed.
    """

    kind: EventType
    arguments: Arguments
    caller: Caller | None


class McpPushDoor:
    """Webhooks.  open_door: returns the door once the SDK is loaded."""

    def __init__(self, push: PushService, open_door: Callable[[], Awaitable[Door]]) -> None:
        self._push, self._open_door = push, open_door

    async def run(self, outlet: Courier) -> str | None:
        """Deliver events.  Raises HeadraceError."""
        door = await self._open_door()
        from streams.doors.mcp.delivering import deliver_events

        return await deliver_events(door, self._push, outlet)

    def may_receive(self, subscription: Subscription) -> bool:
        """Return whether the principal has a valid token with the role that its events need."""
        return narrow(self._push, subscription) is not None

    def farewell(self, outlet: Courier) -> Message | None:
        return make_farewell(outlet)


def caller_of(push: PushService, subscription: Subscription) -> Caller | None:
    """Return who the events are for, with its roles now; None where no tokens are needed."""
    if push.tokens is None:
        return None
    return Caller(subscription.principal, push.roles_of(subscription.principal))


def narrow(push: PushService, subscription: Subscription) -> Narrowed | None:
    """Return the events of a subscription that its principal may have, None without any."""
    kind, caller = event_types.BY_NAME.get(subscription.name), caller_of(push, subscription)
    if kind is None or not kind.is_for(caller):
        return None
    try:
        arguments = event_types.for_caller(kind, subscription.arguments, caller)
    except ToolRefused:
        return None
    return Narrowed(kind, arguments, caller)
