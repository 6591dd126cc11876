"""The example agents over Kafka: they read `asap.inbox` and write `asap.envelopes`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

from schemas.asap import (
    EXT_SNAPSHOT,
    Envelope,
    StateQuery,
    TaskStatus,
    make_envelope,
)
from streams.agents.asap.indexer import resumed, work
from streams.agents.cursor_file import start_of, write_cursor
from streams.client import Client, TailStream
from streams.log.cursors import EARLIEST, CursorAhead, CursorExpired, CursorInvalid
from streams.settings import Settings
from topology.asap import ASAP_ENVELOPES, ASAP_INBOX

Json = dict[str, Any]
Tell = Callable[[str, Envelope], None]
"""A callback for each envelope that was sent or received."""
ATTEMPTS = 20


class InboxRecord(NamedTuple):
    """An envelope of the inbox.

    cursor: the position behind it.  trace: its trace context, which the replies continue.
    """

    envelope: Envelope
    cursor: str
    trace: str | None


async def _inbox_records(inbox: TailStream, urn: str) -> AsyncIterator[InboxRecord]:
    """Yield the inbox records that are addressed to this agent."""
    async for record in inbox:
        if isinstance(record.value, dict) and record.value.get("recipient") == urn:
            envelope = Envelope.model_validate(record.value)
            yield InboxRecord(envelope, record.cursor, record.traceparent)


async def _send(hr: Client, envelope: Envelope, tell: Tell, trace: str | None = None) -> None:
    value, topic = envelope.model_dump(mode="json"), ASAP_ENVELOPES.name
    await hr.send(topic, value, traceparent=trace, attempts=ATTEMPTS)
    tell("sent", envelope)


async def ask(settings: Settings, task_request: Envelope, wait_s: int, tell: Tell) -> Json:
    """Send a request, wait for the end of its task, and return the response's payload.

    Raises TimeoutError, BrokerUnavailable, InvalidInput, ProduceUnknown.
    """
    async with (
        asyncio.timeout(wait_s),
        Client(settings=settings) as hr,
        hr.tail(ASAP_INBOX.name) as inbox,
    ):
        await _send(hr, task_request, tell)
        async for envelope, _, _ in _inbox_records(inbox, task_request.sender):
            tell("received", envelope)
            if envelope.correlation_id == task_request.id and _is_end(envelope):
                return envelope.payload
    raise AssertionError("a tail does not end")


def _is_end(envelope: Envelope) -> bool:
    """Return whether an envelope says that its task is over."""
    status = envelope.payload.get("status")
    return status is not None and TaskStatus(status).is_terminal()


class Worker:
    """A worker on the tasks of its inbox, which run concurrently.

    place: a file with the cursor before which all of the inbox is done.  It is written when no task
    is open, so the request of an open task may be read again; the worker first queries the state of
    the task.
    pace_s: how long a page takes.
    """

    def __init__(
        self, settings: Settings, urn: str, place: Path, pace_s: float, tell: Tell
    ) -> None:
        self._settings, self._urn, self._pace_s, self._tell = settings, urn, pace_s, tell
        self._place = place
        self._requests: dict[str, InboxRecord] = {}
        """Requests by the id of the query about their state."""
        self._working: dict[str, asyncio.Task[None]] = {}

    async def run(self, on_ready: Callable[[], object]) -> None:
        """Work on tasks until cancelled.  Raises BrokerUnavailable."""
        start = start_of(self._place)
        async with Client(settings=self._settings) as hr, asyncio.TaskGroup() as group:
            while True:
                try:
                    async with hr.tail(ASAP_INBOX.name, start=start) as inbox:
                        on_ready()
                        await self._follow(hr, inbox, group)
                except (CursorExpired, CursorAhead, CursorInvalid):
                    start = EARLIEST

    async def _follow(self, hr: Client, inbox: TailStream, group: asyncio.TaskGroup) -> None:
        async for inbox_record in _inbox_records(inbox, self._urn):
            await self._take(hr, inbox_record, group)
            if not self._requests and not self._working:
                write_cursor(self._place, inbox_record.cursor)

    async def _take(self, hr: Client, inbox_record: InboxRecord, group: asyncio.TaskGroup) -> None:
        envelope = inbox_record.envelope
        self._tell("received", envelope)
        match envelope.canonical_type:
            case "TaskRequest":
                await self._ask_state(hr, inbox_record)
            case "TaskUpdate" if envelope.correlation_id in self._requests:
                task_request = self._requests.pop(envelope.correlation_id or "")
                if not _is_end(envelope):
                    saved = (envelope.extensions or {}).get(EXT_SNAPSHOT)
                    working = group.create_task(self._work(hr, task_request, saved))
                    self._begin(working, task_request.envelope.id)
            case "TaskCancel":
                if (running := self._working.get(envelope.payload["task_id"])) is not None:
                    running.cancel()

    async def _ask_state(self, hr: Client, task_request: InboxRecord) -> None:
        """Query the state of a task that is new or that another process has begun."""
        payload = StateQuery(task_id=task_request.envelope.id)
        service = self._settings.asap_service_urn
        query = make_envelope(payload, sender=self._urn, recipient=service)
        self._requests[query.id] = task_request
        await _send(hr, query, self._tell, task_request.trace)

    def _begin(self, working: asyncio.Task[None], task_id: str) -> None:
        """Register the coroutine that works on a task, until it ends.

        It may be cancelled before its first step, so a callback removes it, not the coroutine
        itself.
        """
        self._working[task_id] = working
        working.add_done_callback(lambda _: self._working.pop(task_id, None))

    async def _work(self, hr: Client, task_request: InboxRecord, saved: Json | None) -> None:
        state = resumed(None if saved is None else saved["data"])
        for envelope in work(task_request.envelope, state):
            await asyncio.sleep(self._pace_s)
            await _send(hr, envelope, self._tell, task_request.trace)
