"""`subscriptions/listen`: tells of changes of tasks, resources and lists, without replay.

SAP tasks, Summit runs and ASAP tasks are followed by handle; things, and the events of sessions, as
resources; and the lists of tools and of resources.  Other wishes are left out of the
acknowledgement.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, aclosing, suppress
from dataclasses import dataclass, field
from functools import partial

import mcp.types as types
from mcp.shared.exceptions import MCPError

from streams.access.callers import Role
from streams.api.problems import error_response
from streams.doors.mcp import task_methods
from streams.doors.mcp.changes import Changes, Subject
from streams.doors.mcp.door import Client, Door
from streams.doors.mcp.list_changes import ListSubject, find_lists, note_contents, watch_lists
from streams.doors.mcp.notifying import Notifier
from streams.doors.mcp.patience import Gone
from streams.doors.mcp.resources import node_of
from streams.doors.mcp.results import Json, ToolRefused, refused_by
from streams.doors.mcp.streaming import check_caller, take_room, watch_drain
from streams.doors.mcp.tasks import find_task
from streams.doors.mcp.waiting import Awaited, await_outcome, each_state
from streams.doors.mcp.wire import refusal_error
from streams.errors import ViewNotReady
from streams.gateway.caller import get_caller
from streams.routes.things import KINDS
from topology.lineage import kind_of

OpenRow = Callable[[], AbstractContextManager[Future[None]]]
MOST = 100
"""The things that one client follows at once; further ones are not acknowledged."""


@dataclass(eq=False)
class TaskSubject(Subject):
    """A task that a client follows, by its handle.  last: what was sent of it."""

    id: str
    thing: Awaited
    last: Json = field(default_factory=dict)


@dataclass(eq=False)
class ResourceSubject(Subject):
    """A resource that a client follows.

    rows: open futures that complete when one of the view's rows is written that it is made of.
    """

    uri: str
    rows: list[OpenRow]


async def listen(
    door: Door, client: Client, wishes: types.SubscriptionFilter, send: Notifier
) -> None:
    """Tell of changes until the client is gone, has lost its token, or the gateway stops.

    Raises MCPError.
    """
    try:
        with take_room(door):
            await _follow(door, client, wishes, send)
    except ToolRefused as exc:
        raise refusal_error(exc) from exc
    except ViewNotReady as exc:
        raise refusal_error(refused_by(error_response(exc))) from exc


async def _follow(
    door: Door, client: Client, wishes: types.SubscriptionFilter, send: Notifier
) -> None:
    tasks, resources = [*_find_tasks(door, client, wishes)], [*_find_resources(door, wishes)]
    lists = list(find_lists(wishes))
    changes = Changes()
    watchers = [asyncio.create_task(_watch_task(door, each, changes)) for each in tasks]
    watchers += [
        asyncio.create_task(_watch_row(row, each, changes))
        for each in resources
        for row in each.rows
    ]
    try:
        for each in lists:
            await note_contents(door, each)
        if lists:
            watchers.append(asyncio.create_task(watch_lists(door, lists, changes)))
        await send(
            "subscriptions/acknowledged", {"notifications": _honoured(tasks, resources, lists)}
        )
        async with watch_drain(door, changes.end):
            while (subject := await changes.next()) is not None:
                check_caller(door)
                await _tell(door, client, subject, send)
    except (Gone, ViewNotReady):
        return
    finally:
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)


def _find_tasks(
    door: Door, client: Client, wishes: types.SubscriptionFilter
) -> Iterator[TaskSubject]:
    ids = (wishes.model_extra or {}).get("taskIds")
    if not client.takes_tasks or not isinstance(ids, list):
        return
    for id in ids[:MOST]:
        with suppress(MCPError):
            if isinstance(id, str):
                yield TaskSubject(id, find_task(door, id).awaited)


def _find_resources(door: Door, wishes: types.SubscriptionFilter) -> Iterator[ResourceSubject]:
    caller = get_caller()
    if caller is not None and not caller.has((Role.READER,)):
        return
    for uri in (wishes.resource_subscriptions or [])[:MOST]:
        rows = _find_rows(door, node_of(uri))
        if rows:
            yield ResourceSubject(uri, rows)


def _find_rows(door: Door, node: str | None) -> list[OpenRow]:
    """Return what waits for the rows that changes of a thing write.  Raises ViewNotReady."""
    kind = "" if node is None else kind_of(node)
    query, live = KINDS.get(kind), door.gateway.view
    if node is None or query is None:
        return []
    with live.reader() as view:
        all_ids = query.find(view, node.removeprefix(f"{kind}:"), None)
    if query.row is not None:
        return [partial(live.awaiting, query.row(ids)) for ids in all_ids]
    if query.rows is not None:
        return [partial(live.awaiting_any, each) for ids in all_ids for each in query.rows(ids)]
    return []


def _honoured(
    tasks: list[TaskSubject], resources: list[ResourceSubject], lists: list[ListSubject]
) -> Json:
    names = {
        "taskIds": [each.id for each in tasks],
        "resourceSubscriptions": [each.uri for each in resources],
    }
    honoured: Json = {name: values for name, values in names.items() if values}
    return honoured | {each.wish: True for each in lists}


async def _watch_task(door: Door, subject: TaskSubject, changes: Changes) -> None:
    """Note each state of a task.  Its outcome may come after its last state."""
    ending = asyncio.create_task(await_outcome(door, subject.thing, math.inf))
    ending.add_done_callback(lambda _: changes.add(subject))
    try:
        async with aclosing(each_state(door, subject.thing)) as states:
            async for _ in states:
                changes.add(subject)
    finally:
        ending.cancel()


async def _watch_row(row: OpenRow, subject: ResourceSubject, changes: Changes) -> None:
    """Note that a row was written, once it would be noted that it was written again."""
    is_written = False
    while True:
        with row() as written:
            if is_written:
                changes.add(subject)
            await asyncio.wrap_future(written)
            is_written = True


async def _tell(door: Door, client: Client, subject: Subject, send: Notifier) -> None:
    """Send what has become of a thing or a list.  Raises Gone."""
    if isinstance(subject, ListSubject):
        await send(subject.notification, {})
    if isinstance(subject, ResourceSubject):
        await send("resources/updated", {"uri": subject.uri})
    if not isinstance(subject, TaskSubject):
        return
    with suppress(MCPError):
        task = await task_methods.get(door, client, subject.id)
        task.pop("resultType")
        if task != subject.last:
            subject.last = task
            await send("tasks", task)
