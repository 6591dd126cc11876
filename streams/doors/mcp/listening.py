"""`subscriptions/listen`: tells of changes of tasks, resources and lists, without replay.

SAP tasks, Summit runs and ASAP tasks are followed, by handle or as resources, and the lists of
tools and of resources; other wishes are left out of the acknowledgement.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from urllib.parse import unquote

import mcp.types as types
from mcp.shared.exceptions import MCPError

from streams.access.callers import Role
from streams.doors.mcp import task_methods
from streams.doors.mcp.changes import Changes, Subject
from streams.doors.mcp.door import Client, Door
from streams.doors.mcp.list_changes import ListSubject, find_lists, note_contents, watch_lists
from streams.doors.mcp.notifying import Gone, Notifier
from streams.doors.mcp.results import Json, ToolRefused
from streams.doors.mcp.streaming import check_caller, take_room, watch_drain
from streams.doors.mcp.tasks import find_task
from streams.doors.mcp.waiting import Awaited, await_outcome, each_state, find_awaited
from streams.doors.mcp.wire import refusal_error
from streams.errors import ViewNotReady
from streams.gateway.caller import get_caller

_NODE = "headrace://node/"
MOST = 100
"""The things that one client follows at once; further ones are not acknowledged."""


@dataclass(eq=False)
class ThingSubject(Subject):
    """A thing that a client follows.  name: a handle, or the address of a resource.

    last: what was sent of it.
    """

    name: str
    thing: Awaited
    is_task: bool
    last: Json = field(default_factory=dict)


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


async def _follow(
    door: Door, client: Client, wishes: types.SubscriptionFilter, send: Notifier
) -> None:
    things = [*_find_tasks(door, client, wishes), *_find_resources(door, wishes)]
    lists = list(find_lists(wishes))
    changes = Changes()
    watchers = [asyncio.create_task(_watch(door, each, changes)) for each in things]
    try:
        for each in lists:
            await note_contents(door, each)
        if lists:
            watchers.append(asyncio.create_task(watch_lists(door, lists, changes)))
        await send("subscriptions/acknowledged", {"notifications": _honoured(things, lists)})
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
) -> Iterator[ThingSubject]:
    ids = (wishes.model_extra or {}).get("taskIds")
    if not client.takes_tasks or not isinstance(ids, list):
        return
    for id in ids[:MOST]:
        with suppress(MCPError):
            if isinstance(id, str):
                yield ThingSubject(id, find_task(door, id).awaited, True)


def _find_resources(door: Door, wishes: types.SubscriptionFilter) -> Iterator[ThingSubject]:
    caller = get_caller()
    if caller is not None and not caller.has((Role.READER,)):
        return
    for uri in (wishes.resource_subscriptions or [])[:MOST]:
        node = unquote(uri.removeprefix(_NODE)) if uri.startswith(_NODE) else None
        thing = find_awaited(door, node)
        if thing is not None:
            yield ThingSubject(uri, thing, False)


def _honoured(things: list[ThingSubject], lists: list[ListSubject]) -> Json:
    names = {
        "taskIds": [each.name for each in things if each.is_task],
        "resourceSubscriptions": [each.name for each in things if not each.is_task],
    }
    honoured: Json = {name: values for name, values in names.items() if values}
    return honoured | {each.wish: True for each in lists}


async def _watch(door: Door, subject: ThingSubject, changes: Changes) -> None:
    """Note each change of a thing.  Its outcome may come after its last state."""
    ending = asyncio.create_task(await_outcome(door, subject.thing, math.inf))
    ending.add_done_callback(lambda _: changes.add(subject))
    try:
        async with aclosing(each_state(door, subject.thing)) as states:
            is_first = True
            async for _ in states:
                if subject.is_task or not is_first:
                    changes.add(subject)
                is_first = False
    finally:
        ending.cancel()


async def _tell(door: Door, client: Client, subject: Subject, send: Notifier) -> None:
    """Send what has become of a thing or a list.  Raises Gone."""
    if isinstance(subject, ListSubject):
        await send(subject.notification, {})
    if not isinstance(subject, ThingSubject):
        return
    if not subject.is_task:
        await send("resources/updated", {"uri": subject.name})
        return
    with suppress(MCPError):
        task = await task_methods.get(door, client, subject.name)
        task.pop("resultType")
        if task != subject.last:
            subject.last = task
            await send("tasks", task)
