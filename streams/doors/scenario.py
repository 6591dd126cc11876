"""The gateway of one line of a scenario: over the scenario's log and its view.

Nothing happens while a line is carried out, so no request waits: a wait ends with what is there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from streams.api.problems import Response
from streams.api.query_side import PlayContext
from streams.engine.log import Log
from streams.engine.records import Output, Record
from streams.errors import ViewNotReady
from streams.views.positions import Position, ViewBehind
from streams.views.status import ViewStats, ViewStatus

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Message

    from streams.gateway.context import Gateway


def make_scenario_gateway(context: PlayContext, **changes: Any) -> Gateway:
    """Return the gateway of one line.  changes: to the settings of the scenario."""
    from streams.gateway.app import make_gateway  # other lines of a scenario need no web stack

    settings = replace(cast(Any, context.settings), **changes)
    log, view = cast(Log, ScenarioLog(context)), ScenarioView(context)
    return make_gateway(settings, log, view, context.clock)


class ScenarioLog:
    """The scenario's log, on which every processor has decided once a record is produced."""

    def __init__(self, context: PlayContext) -> None:
        self._context = context

    def submit(self, outputs: Sequence[Output]) -> Future[list[Record]]:
        produced: Future[list[Record]] = Future()
        produced.set_result(list(self._context.append(outputs)))
        self._context.view.catch_up(0)
        return produced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context.log, name)


class ScenarioView:
    """The scenario's view, which has read everything there is."""

    def __init__(self, context: PlayContext) -> None:
        self._view = context.view
        self._since_ms = context.clock()

    def status(self) -> ViewStatus:
        return ViewStatus("ready", 0, self._view.applied, self._since_ms, None)

    def stats(self) -> ViewStats:
        return ViewStats(applied=self._view.applied)

    @contextmanager
    def reader(self) -> Iterator[Any]:
        yield self._view

    def recent_fact(self, position: Position) -> Record | None:
        return None

    async def wait_async(self, position: Position, timeout_s: float) -> None:
        if not self._view.has_answer(position):
            raise ViewBehind(position, 0)

    async def wait_for_ends(self, timeout_s: float) -> None:
        """Wait for nothing: the view is at the ends."""

    @contextmanager
    def awaiting(self, row: bytes) -> Iterator[Future[None]]:
        written: Future[None] = Future()
        written.set_exception(ViewNotReady("nothing is written while a line is carried out"))
        yield written

    def awaiting_any(self, prefix: bytes) -> AbstractContextManager[Future[None]]:
        return self.awaiting(prefix)


class Exchange:
    """The two sides of a request: its body, and what the response writes."""

    def __init__(self, content: bytes) -> None:
        self._unread = [{"type": "http.request", "body": content, "more_body": False}]
        self._sent: list[Message] = []

    async def receive(self) -> Message:
        if self._unread:
            return self._unread.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError("nobody sets that event")

    async def read(self, response: Any, request: Request) -> Response:
        """Return what a response writes."""
        self._unread.clear()
        await response(request.scope, self.receive, self._send)
        text = b"".join(part.get("body", b"") for part in self._sent).decode()
        status = self._sent[0]["status"]
        kinds = [value for name, value in self._sent[0]["headers"] if name == b"content-type"]
        if any(kind.startswith(b"text/event-stream") for kind in kinds):
            return Response(status, [_event(block) for block in text.split("\n\n") if block])
        return Response(status, json.loads(text) if text else None, fact=True)

    async def _send(self, message: Message) -> None:
        self._sent.append(message)


def _event(block: str) -> dict[str, Any]:
    """Return a server-sent event as JSON."""
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return {**fields, "data": json.loads(fields["data"])}
