"""The lists that change when an agent is registered, changed or withdrawn: tools and resources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator
from contextvars import copy_context
from dataclasses import dataclass

import mcp.types as types

from streams.doors.mcp import agents, resources
from streams.doors.mcp.changes import Changes, Subject
from streams.doors.mcp.door import Door
from streams.errors import ViewNotReady
from streams.views.positions import ViewBehind

_CATCH_UP_S = 5.0
_RETRY_S = 1.0
Contents = Callable[[Door], Hashable]


@dataclass(eq=False)
class ListSubject(Subject):
    """A list that a client follows.

    wish: the member of the filter that asks for it.  notification: that tells of a change.
    contents: what a change of the list changes; raises ViewNotReady.
    """

    wish: str
    notification: str
    contents: Contents
    last: Hashable = None


def _tools(door: Door) -> Hashable:
    return tuple((each.name, each.tool.manifest_hash) for each in agents.list_offered(door))


def _resources(door: Door) -> Hashable:
    _, manifests = resources.list_entries(door)
    return tuple(manifests)


def find_lists(wishes: types.SubscriptionFilter) -> Iterator[ListSubject]:
    """Yield the lists that the client wishes to follow."""
    if wishes.tools_list_changed:
        yield ListSubject("toolsListChanged", "tools/list_changed", _tools)
    if wishes.resources_list_changed:
        yield ListSubject("resourcesListChanged", "resources/list_changed", _resources)


async def note_contents(door: Door, subject: ListSubject) -> bool:
    """Note what the list has now, and return whether that is new.  Raises ViewNotReady."""
    loop = asyncio.get_running_loop()
    contents = await loop.run_in_executor(
        door.gateway.queries, copy_context().run, subject.contents, door
    )
    is_new = bool(contents != subject.last)
    subject.last = contents
    return is_new


async def watch_lists(door: Door, subjects: list[ListSubject], changes: Changes) -> None:
    """Note each change of the lists, once the view has it; without end."""
    loop, wake = asyncio.get_running_loop(), asyncio.Event()
    topics = [door.settings.prefix + of.changes.name for of in agents.OFFERED]

    def wake_soon() -> None:
        loop.call_soon_threadsafe(wake.set)

    with door.tails.follow(topics, wake_soon):
        while True:
            await wake.wait()
            wake.clear()
            try:
                await door.gateway.view.wait_for_ends(_CATCH_UP_S)
                for each in subjects:
                    if await note_contents(door, each):
                        changes.add(each)
            except (ViewBehind, ViewNotReady):
                await asyncio.sleep(_RETRY_S)
                wake.set()
