"""Events as webhooks deliver them: the stream of a subscription, each event one signed POST."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from schemas import sha256_hex
from streams.access.callers import Caller
from streams.doors.mcp.door import Door
from streams.doors.mcp.events import WEBHOOK
from streams.doors.mcp.notifying import to_json
from streams.doors.mcp.push_door import caller_of, narrow
from streams.doors.mcp.results import Json, ToolRefused
from streams.doors.mcp.streaming import Stream
from streams.doors.mcp.webhook_messages import make_farewell, make_message
from streams.doors.push.courier import Courier
from streams.doors.push.sender import TERMINATED
from streams.doors.push.service import PushService
from streams.errors import BrokerUnavailable

_CURSOR = "event_cursor"


class _RolesChanged(Exception):
    """The principal may have other events than when its stream began."""


class _Poster:
    """Takes the notifications of a stream, and posts those that a receiver gets.

    is_gap_due: events are left out before the first one.
    """

    def __init__(self, outlet: Courier, is_gap_due: bool = False) -> None:
        self._outlet, self._is_gap_due = outlet, is_gap_due

    async def __call__(self, name: str, params: Json) -> None:
        match name:
            case "events/event":
                await self._deliver(to_json(params), params["eventId"], params["cursor"])
            case "events/active" if params["truncated"] or self._is_gap_due:
                self._is_gap_due = False
                await self._deliver_gap(params["cursor"])
            case "events/active" | "events/heartbeat":
                await self._outlet.move(params["cursor"])

    async def send_all(self, name: str, params: Sequence[bytes]) -> None:
        """Post each of these events."""
        for text in params:
            event = json.loads(text)
            await self._deliver(text, event["eventId"], event["cursor"])

    async def _deliver_gap(self, cursor: str) -> None:
        id = f"gap_{sha256_hex(f'{self._outlet.subscription.id} {cursor}'.encode())[:32]}"
        await self._deliver(to_json({"type": "gap", "cursor": cursor}), id, cursor)

    async def _deliver(self, content: bytes, id: str, cursor: str) -> None:
        await self._outlet.deliver(make_message(self._outlet, content, id, cursor))


async def deliver_events(door: Door, push: PushService, outlet: Courier) -> str | None:
    """Deliver what a subscription is owed; return why nothing more comes, None at a stop.

    Raises BrokerUnavailable.
    """
    is_gap_due, cursor = False, outlet.cursor
    while True:
        narrowed = narrow(push, outlet.subscription)
        if narrowed is None:
            await outlet.post_once(make_farewell(outlet))
            return TERMINATED
        stream = Stream(
            door,
            narrowed.kind,
            narrowed.arguments,
            _Poster(outlet, is_gap_due),
            WEBHOOK,
            _check_of(push, outlet, narrowed.caller),
        )
        try:
            await stream.run(cursor or None, None)
            return None
        except _RolesChanged:
            cursor = outlet.cursor
        except ToolRefused as exc:
            if exc.body.get("rule") != _CURSOR:
                raise BrokerUnavailable(str(exc.body.get("detail"))) from exc
            is_gap_due, cursor = True, ""  # its topics are others now: go on with what comes


def _check_of(push: PushService, outlet: Courier, caller: Caller | None) -> Callable[[], None]:
    """Return what raises _RolesChanged once the principal has other roles than it had."""

    def check() -> None:
        if caller_of(push, outlet.subscription) != caller:
            raise _RolesChanged

    return check
