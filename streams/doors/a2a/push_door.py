"""The side of the door that the sender of push asks.  The SDK is loaded with the first event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from streams.doors.push.courier import Courier, Message
from streams.doors.push.service import PushService
from streams.doors.push.subscriptions import Subscription
from streams.gateway.context import Gateway


class A2aPushDoor:
    """Push notifications of tasks."""

    def __init__(self, gateway: Gateway, push: PushService) -> None:
        self._gateway, self._push = gateway, push

    async def run(self, outlet: Courier) -> str | None:
        """Deliver the events of a task.  Raises ExtraMissing without the SDK, ViewNotReady."""
        push_events = await asyncio.to_thread(_load)
        return await push_events(self._gateway, outlet)

    def may_receive(self, subscription: Subscription) -> bool:
        """Return whether the principal still has a token; true where none are needed."""
        return self._push.tokens is None or bool(self._push.roles_of(subscription.principal))

    def farewell(self, outlet: Courier) -> Message | None:
        """Return nothing: A2A has no message for it."""
        return None


def _load() -> Callable[[Gateway, Courier], Awaitable[str | None]]:
    from streams.doors.a2a.pushing import push_events

    return push_events
