"""Notifications on the stream of one request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import mcp.types as types

from streams.doors.mcp.clients import Context, is_modern
from streams.doors.mcp.exchange import ResponseWriter, writer_of
from streams.doors.mcp.patience import Patience
from streams.doors.mcp.results import Json

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class EventSink(Protocol):
    """A receiver of the notifications of a stream.  Raises Gone if it takes nothing."""

    async def __call__(self, name: str, params: Json) -> None: ...

    async def send_all(self, name: str, params: Sequence[bytes]) -> None: ...


class _Notification(types.Notification[dict[str, Any], str]):
    """A notification of any name."""


class Notifier:
    """Sends the notifications of one request, each with the request's id.

    The SDK sends the first one.  At versions without sessions the further ones are written to the
    response at once, in the SDK's form.
    """

    def __init__(self, ctx: Context) -> None:
        self._session, self._id = ctx.session, ctx.request_id
        self._writer = writer_of(ctx.request) if is_modern(ctx) else None
        self._has_begun = False
        self._patience = Patience()
        self._meta_json = to_json({"_meta": self.meta})

    @property
    def meta(self) -> Json:
        return {SUBSCRIPTION: self._id}

    async def __call__(self, name: str, params: Json) -> None:
        """Send `notifications/NAME`.  Raises Gone if the client takes nothing."""
        if self._writer is not None and self._has_begun:
            await self._write(self._writer, name, [to_json({**params, "_meta": self.meta})])
            return
        notification = _Notification(
            method=f"notifications/{name}", params={**params, "_meta": self.meta}
        )
        sending = self._session.send_notification(
            notification,  # type: ignore[arg-type] # an extension's, which the SDK has not
            related_request_id=self._id,
        )
        await self._patience.send(sending)
        self._has_begun = True

    async def send_all(self, name: str, params: Sequence[bytes]) -> None:
        """Send a notification for each of these JSON objects, which have members.

        Raises Gone if the client takes nothing.
        """
        if self._writer is not None and self._has_begun:
            all_params = [extend_object(each, self._meta_json) for each in params]
            await self._write(self._writer, name, all_params)
            return
        for each in params:
            await self(name, json.loads(each))

    async def _write(self, writer: ResponseWriter, name: str, params: Iterable[bytes]) -> None:
        begin = f'{{"jsonrpc":"2.0","method":"notifications/{name}","params":'.encode()
        frames = (b"event: message\r\ndata: %s%s}\r\n\r\n" % (begin, each) for each in params)
        await self._patience.send(writer.write(b"".join(frames)))


def to_json(value: Json) -> bytes:
    """Return the JSON text of an object as the SDK writes it, in ASCII."""
    return json.dumps(value, separators=(",", ":")).encode()


def extend_object(text: bytes, more: bytes) -> bytes:
    """Return the text of an object with the members of another one behind its own."""
    return text[:-1] + b"," + more[1:]
