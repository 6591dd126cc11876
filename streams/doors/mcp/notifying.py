"""Notifications on the stream of one request."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp.types as types

from streams.doors.mcp.clients import Context
from streams.doors.mcp.results import Json

PATIENCE_S = 10.0
"""How long a client may take nothing before its stream is ended."""
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Gone(Exception):
    """The end of a stream.  detail: what the client is told; None for one that takes nothing."""

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail


class _Notification(types.Notification[dict[str, Any], str]):
    """A notification of any name."""


class Notifier:
    """Sends the notifications of one request, each with the request's id."""

    def __init__(self, ctx: Context) -> None:
        self._session, self._id = ctx.session, ctx.request_id

    @property
    def meta(self) -> Json:
        return {SUBSCRIPTION: self._id}

    async def __call__(self, name: str, params: Json) -> None:
        """Send `notifications/NAME`.  Raises Gone if the client takes nothing."""
        notification = _Notification(
            method=f"notifications/{name}", params={**params, "_meta": self.meta}
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._session.send_notification(
                    notification,  # type: ignore[arg-type] # an extension's, which the SDK has not
                    related_request_id=self._id,
                )
        except TimeoutError:
            raise Gone from None
