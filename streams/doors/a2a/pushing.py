"""The events of a task as they are posted: those of its stream, from a place on the log on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from streams.doors.a2a.cursors import Cursor
from streams.doors.a2a.events import Batch, Event, first_event, read_events
from streams.doors.a2a.mapping import ALL_MODES
from streams.doors.a2a.protocol import A2A_TYPE, VERSION, VERSION_NAME
from streams.doors.a2a.push_configs import DOOR
from streams.doors.a2a.tasks import Selection, read_task_as_of
from streams.doors.push.courier import Courier, Message
from streams.doors.push.cursors import read_cursor, write_cursor
from streams.errors import NotFound, ViewNotReady
from streams.gateway.context import Gateway
from streams.gateway.http_response import dump_json
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.rows import run_events
from streams.protocols.summit.rpc import GatewayHost
from streams.views.keys import key, number_at_end
from streams.views.reads import ReadOnlyStore
from topology.keys import partition_of
from topology.summit import SUMMIT_EVENTS

TASK_ENDED, NO_TASK = "task_ended", "no_task"
_NO_TASK_MS = 3_600_000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 30.0
_TOKEN, _EVENT_ID = "X-A2A-Notification-Token", "Headrace-Event-Id"


class _Place(NamedTuple):
    """A place among the events of a task.

    offsets: of all partitions, that of the task's among them.  after: the last event, if known.
    """

    offsets: list[int]
    partition: int
    after: Cursor = Cursor(0)

    @property
    def last_key(self) -> bytes:
        """Return the end of the key of what is before the next change."""
        return key(self.partition, self.offsets[self.partition] - 1)

    def cursor(self) -> str:
        return write_cursor(DOOR, {SUMMIT_EVENTS.name: self.offsets})

    def behind(self, last_key: bytes, after: Cursor) -> _Place:
        """Return the place behind a change.  last_key: of its row."""
        offsets = list(self.offsets)
        offsets[self.partition] = number_at_end(last_key) + 1
        return self._replace(offsets=offsets, after=after)


async def push_events(gateway: Gateway, outlet: Courier) -> str | None:
    """Deliver the events of a task that are owed, until it has ended.

    Returns why no more will come; None if the gateway stops.  Raises ViewNotReady.
    """
    task_id, granted_at = outlet.subscription.name, outlet.subscription.granted_at
    place, host = _begin(outlet.cursor, task_id), GatewayHost(gateway)
    wait_s = _FIRST_WAIT_S
    while True:
        with gateway.view.awaiting(runs.run_row(task_id)) as written:
            batch = await host.read(partial(_read_owed, task_id, place))
            if batch is None and gateway.clock() - granted_at >= _NO_TASK_MS:
                return NO_TASK
            if batch is not None and batch.events:
                place, wait_s = await _deliver(outlet, task_id, place, batch), _FIRST_WAIT_S
                if batch.is_last:
                    return TASK_ENDED
                continue
            if batch is not None and batch.is_last:
                return TASK_ENDED
            try:
                async with asyncio.timeout(wait_s):
                    await asyncio.wrap_future(written)
                wait_s = _FIRST_WAIT_S
            except TimeoutError:
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            except ViewNotReady:
                return None


def _begin(cursor: str, task_id: str) -> _Place:
    """Return the place of a cursor; one that is none is the beginning of the log."""
    parsed = read_cursor(cursor)
    offsets = [] if parsed is None else list(parsed.offsets.get(SUMMIT_EVENTS.name, ()))
    offsets = offsets or [0]
    return _Place(offsets, partition_of(task_id.encode(), len(offsets)))


def _read_owed(task_id: str, place: _Place, view: ReadOnlyStore) -> Batch | None:
    """Return the events of the next change; none if nothing is owed yet, None without a task."""
    last_key = run_events(task_id) + place.last_key
    try:
        batch = read_events(view, task_id, place.after, last_key, ALL_MODES, 1)
    except NotFound:
        return None
    if not batch.events:
        (end,) = view.get_many([runs.end_row(task_id)])
        return batch._replace(is_last=batch.is_last or end is not None)
    return batch._replace(events=[_with_task(view, task_id, each) for each in batch.events])


def _with_task(view: ReadOnlyStore, task_id: str, event: Event) -> Event:
    """Return an event; the first one of a task shows the task, as a stream begins with it."""
    if event.cursor != Cursor(1):
        return event
    row = runs.require_row(view, task_id)
    return first_event(read_task_as_of(view, row, event.cursor, Selection()))


async def _deliver(outlet: Courier, task_id: str, place: _Place, batch: Batch) -> _Place:
    """Deliver the events of one change, and return the place behind it."""
    assert batch.key is not None
    behind = place.behind(batch.key, batch.events[-1].cursor)
    for event in batch.events:
        is_last = event is batch.events[-1]
        await outlet.deliver(_message(outlet, task_id, event, behind.cursor() if is_last else None))
    return behind


def _message(outlet: Courier, task_id: str, event: Event, cursor: str | None) -> Message:
    """Return an event as it is posted.  cursor: behind it, None in the middle of a change."""

    def headers() -> Mapping[str, str]:
        named = {
            "Content-Type": A2A_TYPE,
            VERSION_NAME: VERSION,
            _EVENT_ID: f"{task_id}/{event.cursor}",
        }
        secret = json.loads(outlet.secrets()[0])
        authentication = secret.get("authentication", {})
        if "scheme" in authentication and "credentials" in authentication:
            named["Authorization"] = "{scheme} {credentials}".format(**authentication)
        return {**named, _TOKEN: secret["token"]} if "token" in secret else named

    return Message(dump_json(event.body), headers, cursor, outlet.now())
