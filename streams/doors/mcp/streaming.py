"""The methods that stay open: `events/stream` sends each event once, from a cursor on.

A stream that is behind reads the log as polls do, a few streams at a time; near the end it takes
the records that one reader of each topic has read for all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import mcp.types as types
from pydantic import Field

from streams.api.problems import error_response
from streams.api.route import Refused
from streams.doors.mcp.door import Door
from streams.doors.mcp.event_types import Arguments, EventType
from streams.doors.mcp.events import PUSH, check_request
from streams.doors.mcp.heartbeats import Heartbeat
from streams.doors.mcp.notifying import EventSink, Notifier, extend_object, to_json
from streams.doors.mcp.patience import Gone
from streams.doors.mcp.polling import (
    Positions,
    Source,
    event_json,
    find_begin,
    merge,
    oldest_of,
    open_source,
    poll,
    positions_at,
)
from streams.doors.mcp.results import FORBIDDEN, Json, ToolRefused, refused, refused_by
from streams.doors.mcp.shared_events import EventBatch
from streams.doors.mcp.tails import Newest, Tail
from streams.doors.mcp.wire import refusal_error
from streams.engine.records import Record, TopicPartition
from streams.errors import HeadraceError
from streams.gateway.caller import get_caller
from streams.gateway.endpoints import require_broker
from streams.gateway.log_reads import read_log, run_read

_PAGE = 200
_MOST_AT_ONCE = 64 * 1024
"""The bytes of events after which they are sent."""
_RETRY_S = 1.0
_DRAINING = b"mcp streams"
"""The key of no row: who waits for it is told when the gateway stops."""


class StreamParams(types.RequestParams):
    """The parameters of `events/stream`."""

    name: str
    arguments: dict[str, Any] | None = None
    cursor: str | None = None
    max_age_ms: int | None = Field(default=None, alias="maxAgeMs", ge=0)


class Stream:
    """One stream of events.

    send: takes its notifications.  mode: in which events are delivered.
    check: raises what ends the stream when its events are not for the client any more; without it,
    Gone once the caller has lost its token.  cursor: of what was sent.
    """

    def __init__(
        self,
        door: Door,
        kind: EventType,
        arguments: Arguments,
        send: EventSink,
        mode: str = PUSH,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._door, self._gateway = door, door.gateway
        self._mode, self._check = mode, check or (lambda: check_caller(door))
        self._kind, self._arguments, self._send = kind, arguments, send
        self._arguments_key = tuple(sorted(arguments.items()))
        self._oldest_ms: int | None = None
        self._wake = asyncio.Event()
        self.cursor = ""

    async def run(self, cursor: str | None, max_age_ms: int | None) -> None:
        """Send events until the client is gone, may not have them any more, or the gateway stops.

        Raises ToolRefused before the first one, Gone.
        """
        self._oldest_ms = oldest_of(self._gateway, max_age_ms)
        read = self._in_thread if self._mode == PUSH else self._read
        self.cursor, truncated = await read(
            lambda: find_begin(self._gateway, self._kind, self._arguments, cursor, self._oldest_ms)
        )
        await self._send_active(truncated)
        async with watch_drain(self._door, self._wake.set) as is_draining:
            while not is_draining():
                try:
                    await self._follow(is_draining)
                except HeadraceError as exc:
                    body = error_response(exc).body
                    await self._send("events/error", {"error": _error(body)})
                    await asyncio.sleep(_RETRY_S)

    async def _in_thread(self, read: Callable[[], Any]) -> Any:
        """Return what is read of the log.  Raises ToolRefused."""
        try:
            require_broker(self._gateway)
            return await read_log(self._gateway, read)
        except Refused as exc:
            raise refused_by(exc.response) from exc
        except HeadraceError as exc:
            raise refused_by(error_response(exc)) from exc

    async def _follow(self, is_draining: Callable[[], bool]) -> None:
        """Send events until the gateway stops.  Raises HeadraceError, Gone."""
        source = await self._read(
            lambda: open_source(
                self._gateway.log, self._gateway.settings.prefix, self._kind, self._arguments
            )
        )
        positions = positions_at(self._kind, source, self.cursor)
        wake = self._wake
        with (
            self._door.tails.follow(list(source.topics), wake.set) as tails,
            closing(Heartbeat(self._door.settings.rtes_heartbeat_s, wake.set)) as heartbeat,
        ):
            while not is_draining():
                wake.clear()
                self._check()
                batch = self._next_batch(source, tails, positions)
                if batch is None:
                    await self._catch_up()
                    positions = positions_at(self._kind, source, self.cursor)
                    heartbeat.restart()
                    continue
                if batch.texts:
                    await self._send.send_all("events/event", batch.texts)
                    self._gateway.metrics.count_mcp_events(self._mode, len(batch.texts))
                    heartbeat.restart()
                positions, self.cursor = batch.positions, batch.cursor
                if heartbeat.is_due():
                    await self._send("events/heartbeat", {"cursor": self.cursor})
                    heartbeat.restart()
                if batch.is_last:
                    await wake.wait()
                else:
                    await asyncio.sleep(0)

    async def _read(self, read: Callable[[], Any]) -> Any:
        """Return what is read of the log, which no limit refuses: an open stream goes on."""
        return await run_read(self._gateway, read)

    def _next_batch(
        self, source: Source, tails: Sequence[Tail], positions: Positions
    ) -> EventBatch | None:
        """Return the events of at most a page of records from some positions on.

        None if a tail has not all of these.  Streams that are at one place share what was found.
        """
        versions = tuple(tail.version for tail in tails)
        return self._door.tails.events.batch(
            (self._kind.name, self._arguments_key, tuple(positions.values()), versions),
            lambda: self._make_batch(source, tails, positions),
        )

    def _make_batch(
        self, source: Source, tails: Sequence[Tail], positions: Positions
    ) -> EventBatch | None:
        newest = _newest(tails, positions)
        if newest is None:
            return None
        records, behind = newest
        events = self._door.tails.events
        queues: dict[TopicPartition, deque[Record]] = {tp: deque() for tp in positions}
        for record in records:
            queues[TopicPartition(record.topic, record.partition)].append(record)
        at, size, texts, is_last = dict(positions), 0, list[bytes](), False
        for number, (record, place) in enumerate(merge(queues, behind), 1):
            at[TopicPartition(record.topic, record.partition)] = place
            text = self._show(source, record)
            if text is not None:
                cursor = events.cursor(self._kind, source, at)
                texts.append(extend_object(text, to_json({"cursor": cursor})))
                size += len(text)
            if number == _PAGE or size > _MOST_AT_ONCE:
                break
        else:
            at.update(behind)
            is_last = True
        return EventBatch(texts, at, events.cursor(self._kind, source, at), is_last)

    def _show(self, source: Source, record: Record) -> bytes | None:
        """Return the text of a record's event, None if it does not match."""
        place = record.topic, record.partition, record.offset, record.timestamp
        return self._door.tails.events.text(
            (self._kind.name, self._arguments_key, place), lambda: self._make_text(source, record)
        )

    def _make_text(self, source: Source, record: Record) -> bytes | None:
        topic = source.topics[record.topic]
        position = f"{topic.name}/{record.partition}/{record.offset}"
        with self._gateway.view.reader() as view:
            data = self._kind.show(topic, record, position, self._arguments, view)
        return None if data is None else to_json(event_json(self._kind, record, position, data))

    async def _catch_up(self) -> None:
        """Read the log up to the end that it has now, and send what matches."""
        has_more = True
        while has_more:
            self._check()
            async with self._door.tails.catching_up:
                polled = await self._read(
                    lambda: poll(
                        self._gateway,
                        self._kind,
                        self._arguments,
                        self.cursor,
                        _PAGE,
                        self._oldest_ms,
                        with_cursors=True,
                    )
                )
            if polled.truncated and self._oldest_ms is None:
                await self._send_active(True)
            for event in polled.events:
                self.cursor = event["cursor"]
                await self._send("events/event", event)
            self._gateway.metrics.count_mcp_events(self._mode, len(polled.events))
            self.cursor, has_more = polled.cursor, polled.has_more
        await asyncio.sleep(0)

    async def _send_active(self, truncated: bool) -> None:
        await self._send("events/active", {"cursor": self.cursor, "truncated": truncated})


def _newest(tails: Sequence[Tail], positions: Positions) -> Newest | None:
    """Return what all tails have from some positions on, None if one has not all of it."""
    records: list[Record] = []
    behind: Positions = {}
    for tail in tails:
        newest = tail.newest(positions)
        if newest is None:
            return None
        records += newest[0]
        behind.update(newest[1])
    return records, behind


def check_caller(door: Door) -> None:
    """Raise Gone if the caller has lost its token, or a role."""
    tokens, caller = door.gateway.tokens, get_caller()
    if tokens is not None and caller is not None and not tokens.holds(caller):
        raise Gone(f"the token of {caller.principal} is not valid any more")


def _error(body: Any) -> Json:
    detail = str(body.get("detail"))
    return {
        "code": types.INTERNAL_ERROR,
        "message": detail,
        "data": {"rule": body.get("rule"), "detail": detail},
    }


@asynccontextmanager
async def watch_drain(door: Door, wake: Callable[[], None]) -> AsyncIterator[Callable[[], bool]]:
    """Yield what says whether the gateway is stopping; `wake` is called when it begins to."""
    loop = asyncio.get_running_loop()
    with door.gateway.view.awaiting(_DRAINING) as draining:
        draining.add_done_callback(lambda _: loop.call_soon_threadsafe(wake))
        yield draining.done


@contextmanager
def take_room(door: Door) -> Iterator[None]:
    """Count a stream while it is open.  Raises ToolRefused if there are as many as may be."""
    limit = door.settings.gateway_max_streams
    if door.tails.streams >= limit:
        raise refused(503, f"{limit} streams are open", "service_unavailable")
    with door.tails.count_stream(), door.gateway.metrics.count_mcp_stream():
        yield


async def stream_events(door: Door, params: StreamParams, send: Notifier) -> None:
    """Send events as they come, until the client is gone or the gateway stops.  Raises MCPError."""
    try:
        kind, arguments = check_request(params.name, params.arguments or {})
        with take_room(door):
            stream = Stream(door, kind, arguments, send)
            await stream.run(params.cursor, params.max_age_ms)
    except ToolRefused as exc:
        raise refusal_error(exc) from exc
    except Gone as exc:
        if exc.detail is not None:
            error = {"code": FORBIDDEN, "message": exc.detail, "data": {"rule": "token_unknown"}}
            await send("events/terminated", {"error": error})
