"""Following `rtes.events` over server-sent events (SAOP guide, 6.3), without gaps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx
import orjson
from httpx_sse import ServerSentEvent, SSEError, aconnect_sse

from streams.client.answers import GatewayResponse, unanswered
from streams.client.transport import Following, Step, TailRecord
from streams.errors import GatewayUnavailable, HeadraceError, InfrastructureError
from streams.log.cursors import EARLIEST, LATEST

PATH = "/v1/rtes/stream"
_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
"""A stream that says nothing for a minute, not even a heartbeat, is lost."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Events:
    """One stream, over as many connections as it takes.

    patience_s: how long it may be without one before it gives up.
    """

    def __init__(self, http: httpx.AsyncClient, what: Following, patience_s: float) -> None:
        self._http = http
        self._what = what
        self._patience_s = patience_s
        self._cursor = None if what.start in (EARLIEST, LATEST) else what.start
        self._opened = False
        self._seen_at = time.monotonic()

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Yield steps; the first connection must succeed, later ones are retried for patience_s."""
        pause = _FIRST_PAUSE_S
        while True:
            before = self._seen_at
            try:
                async with aclosing(self._connection()) as steps:
                    async for step in steps:
                        yield step
                lost: HeadraceError = GatewayUnavailable("the gateway ended the stream")
            except (httpx.TransportError, SSEError) as exc:
                lost = self._unreachable(exc)
            except InfrastructureError as exc:
                lost = exc
            if not self._opened or time.monotonic() - self._seen_at > self._patience_s:
                raise lost
            pause = _FIRST_PAUSE_S if self._seen_at > before else min(2 * pause, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause)

    def _unreachable(self, exc: Exception) -> GatewayUnavailable:
        where = f" after cursor {self._cursor}" if self._cursor else ""
        reason = str(exc) or type(exc).__name__
        gone = GatewayUnavailable(f"no gateway answers at {self._http.base_url}{where}: {reason}")
        gone.__cause__ = exc
        return gone

    async def _connection(self) -> AsyncGenerator[Step, None]:
        async with aconnect_sse(
            self._http,
            "GET",
            PATH,
            params=self._params(),
            headers=self._headers(),
            timeout=_TIMEOUT,
        ) as source:
            if source.response.status_code != 200:
                raise unanswered(await _problem(source.response))
            async with aclosing(source.aiter_sse()) as events:
                async for event in events:
                    self._seen_at = time.monotonic()
                    if event.event == "overflow":  # this side was slow; the cursor says where
                        self._cursor = str(orjson.loads(event.data)["cursor"])
                        return
                    for step in self._steps(event):
                        yield step

    def _steps(self, event: ServerSentEvent) -> list[Step]:
        if not event.id or (event.id == self._cursor and self._opened):
            return []
        opening = not self._opened
        self._opened, self._cursor = True, event.id
        if not event.data:
            return [Step(event.id)]
        value = orjson.loads(event.data)
        record = TailRecord(value, self._what.topic, None, None, None, event.id)
        step = Step(event.id, (record,))
        return [Step(event.id), step] if opening else [step]

    def _params(self) -> dict[str, str]:
        what = self._what
        filters = {"session_id": what.session_id, "type": what.type, "task_id": what.task_id}
        start = what.start if self._cursor is None else None
        return {k: v for k, v in {**filters, "from": start}.items() if v is not None}

    def _headers(self) -> dict[str, str]:
        return {} if self._cursor is None else {"Last-Event-ID": self._cursor}


async def _problem(response: httpx.Response) -> GatewayResponse:
    try:
        return GatewayResponse(response.status_code, orjson.loads(await response.aread()))
    except orjson.JSONDecodeError:
        return GatewayResponse(response.status_code, None)
