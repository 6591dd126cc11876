"""Streams of a task: a snapshot, then each later event, once and in order, until the task ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple

from schemas.summit.words import TERMINAL
from streams.doors.a2a.cursors import Cursor
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.events import Batch, Event, first_event, read_events
from streams.doors.a2a.protocol import Json
from streams.doors.a2a.tasks import STATES, Snapshot
from streams.errors import ViewNotReady
from streams.gateway.http_response import dump_json
from streams.protocols.summit.queries import runs

_BATCH = 200
_SETTLE_S = 0.02
"""How long a stream waits for the facts that a run's row has come before."""
_MAX_SHORT = 50
"""How often it does so: facts that are kept no more do not come."""
_KEEP_ALIVE = b": keep-alive\n\n"
_ENDED = frozenset(STATES[state] for state in TERMINAL)


class Binding(NamedTuple):
    """The form of events, and of the error that ends a stream, in a binding."""

    event: Callable[[Json], Json]
    error: Callable[[A2aError], Json]


class TaskStream:
    """The stream of one client.  modes: the media types of output that it accepts."""

    def __init__(self, context: Context, snapshot: Snapshot, modes: tuple[str, ...]) -> None:
        self._context, self._snapshot, self._modes = context, snapshot, modes
        self._task_id: str = snapshot.task["id"]
        self._binding = Binding(lambda body: body, A2aError.to_http)
        self._is_open = False

    @property
    def is_over(self) -> bool:
        """Return whether nothing comes after the snapshot."""
        return self._snapshot.task["status"]["state"] in _ENDED

    def bind(self, binding: Binding) -> None:
        """Take the form of a binding; that of HTTP+JSON holds without one."""
        self._binding = binding

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield whole server-sent events."""
        yield self._write([first_event(self._snapshot)])
        if self.is_over:
            return
        try:
            async with aclosing(self._follow()) as batches:
                async for batch in batches:
                    yield self._write(batch.events) if batch.events else _KEEP_ALIVE
        except A2aError as exc:
            yield _frame("event: error", self._binding.error(exc))

    def open(self) -> None:
        """Take a place among the streams of the gateway.  Raises Refused if there is none."""
        self._context.door.enter_stream()
        self._is_open = True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._context.door.leave_stream()

    async def _follow(self) -> AsyncGenerator[Batch, None]:
        """Yield the next events as they come, and nothing whenever it is time for a sign of life.

        Raises A2aError if the view cannot be read any more.
        """
        settings, view = self._context.door.settings, self._context.door.gateway.view
        after, key = self._snapshot.cursor, self._snapshot.key
        is_last, times_short = False, 0
        while not is_last:
            with view.awaiting(runs.run_row(self._task_id)) as written:
                batch = await self._read(after, key)
                key, is_last = batch.key, batch.is_last
                if batch.events:
                    after, times_short = batch.events[-1].cursor, 0
                    yield batch
                elif batch.is_short and times_short < _MAX_SHORT:
                    times_short += 1
                    await asyncio.sleep(_SETTLE_S)
                elif not is_last:
                    try:
                        async with asyncio.timeout(settings.a2a_keepalive_s):
                            await asyncio.wrap_future(written)
                    except TimeoutError:
                        yield batch
                    except ViewNotReady:
                        return  # the gateway stops, and the client goes on at another

    async def _read(self, after: Cursor, key: bytes | None) -> Batch:
        return await self._context.read(
            lambda view: read_events(view, self._task_id, after, key, self._modes, _BATCH)
        )

    def _write(self, events: list[Event]) -> bytes:
        return b"".join(
            _frame(f"id: {event.cursor}", self._binding.event(event.body)) for event in events
        )


def _frame(field: str, body: Json) -> bytes:
    """Return a server-sent event.  field: the line before its data."""
    return b"%s\ndata: %s\n\n" % (field.encode(), dump_json(body))
