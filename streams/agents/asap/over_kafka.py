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
from streams.agents.cursor_file import kept, start_of
from streams.client import Client, TailStream
from streams.log.cursors import EARLIEST, CursorAhead, CursorExpired, CursorInvalid
from streams.settings import Settings
from topology.asap import ASAP_ENVELOPES, ASAP_INBOX

Json = dict[str, Any]
Tell = Callable[[str, Envelope], None]
"""Is told what was sent or received."""
ATTEMPTS = 20


class InboxRecord(NamedTuple):
    """cursor: behind it.  trace: its trace context, which goes on with what answers it."""

    envelope: Envelope
    cursor: str
    trace: str | None


async def _letters(inbox: TailStream, urn: str) -> AsyncIterator[InboxRecord]:
    """What is for this agent."""
    async for record in inbox:
        if isinstance(record.value, dict) and record.value.get("recipient") == urn:
            envelope = Envelope.model_validate(record.value)
            yield InboxRecord(envelope, record.cursor, record.traceparent)


async def _send(hr: Client, envelope: Envelope, tell: Tell, trace: str | None = None) -> None:
    value, topic = envelope.model_dump(mode="json"), ASAP_ENVELOPES.name
    await hr.send(topic, value, traceparent=trace, attempts=ATTEMPTS)
    tell("sent", envelope)


async def ask(settings: Settings, asked: Envelope, wait_s: int, tell: Tell) -> Json:
    """Send a request, and wait for the end of its task; the response's payload.

    Raises TimeoutError, BrokerUnavailable, InvalidInput, ProduceUnknown.
    """
    async with (
        asyncio.timeout(wait_s),
        Client(settings=settings) as hr,
        hr.tail(ASAP_INBOX.name) as inbox,
    ):
        await _send(hr, asked, tell)
        async for letter, _, _ in _letters(inbox, asked.sender):
            tell("received", letter)
            if letter.correlation_id == asked.id and _is_end(letter):
                return letter.payload
    raise AssertionError("a tail does not end")


def _is_end(letter: Envelope) -> bool:
    """Whether it says that its task is over."""
    status = letter.payload.get("status")
    return status is not None and TaskStatus(status).is_terminal()


class Worker:
    """Works on the tasks of its inbox, each in its turn or beside others.

    place: a file that says up to where all of the inbox is done.  It is written when no task is
    open, so a task that was may be read again; the service is asked first how far it is.
    pace_s: how long a page takes.
    """

    def __init__(
        self, settings: Settings, urn: str, place: Path, pace_s: float, tell: Tell
    ) -> None:
        self._settings, self._urn, self._pace_s, self._tell = settings, urn, pace_s, tell
        self._place = place
        self._asked: dict[str, InboxRecord] = {}
        """Requests by the id of the query about their state."""
        self._working: dict[str, asyncio.Task[None]] = {}

    async def run(self, on_ready: Callable[[], object]) -> None:
        """Until cancelled.  Raises BrokerUnavailable."""
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
        async for found in _letters(inbox, self._urn):
            await self._take(hr, found, group)
            if not self._asked and not self._working:
                kept(self._place, found.cursor)

    async def _take(self, hr: Client, found: InboxRecord, group: asyncio.TaskGroup) -> None:
        letter = found.envelope
        self._tell("received", letter)
        match letter.canonical_type:
            case "TaskRequest":
                await self._ask_state(hr, found)
            case "TaskUpdate" if letter.correlation_id in self._asked:
                asked = self._asked.pop(letter.correlation_id or "")
                if not _is_end(letter):
                    saved = (letter.extensions or {}).get(EXT_SNAPSHOT)
                    working = group.create_task(self._work(hr, asked, saved))
                    self._begin(working, asked.envelope.id)
            case "TaskCancel":
                if (begun := self._working.get(letter.payload["task_id"])) is not None:
                    begun.cancel()

    async def _ask_state(self, hr: Client, asked: InboxRecord) -> None:
        """Of a task that is new, or that another process has begun."""
        service, about = self._settings.asap_service_urn, StateQuery(task_id=asked.envelope.id)
        query = make_envelope(about, sender=self._urn, recipient=service)
        self._asked[query.id] = asked
        await _send(hr, query, self._tell, asked.trace)

    def _begin(self, working: asyncio.Task[None], task_id: str) -> None:
        """It may be cancelled before its first step, so it cannot tell of its end itself."""
        self._working[task_id] = working
        working.add_done_callback(lambda _: self._working.pop(task_id, None))

    async def _work(self, hr: Client, asked: InboxRecord, saved: Json | None) -> None:
        state = resumed(None if saved is None else saved["data"])
        for envelope in work(asked.envelope, state):
            await asyncio.sleep(self._pace_s)
            await _send(hr, envelope, self._tell, asked.trace)
