"""The sender: a courier for each subscription in the partitions of this gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from streams.doors.push.courier import Courier, Door, SenderContext
from streams.doors.push.ownership import Ownership
from streams.doors.push.subscriptions import Entry, State
from streams.errors import HeadraceError
from topology.keys import partition_of

TERMINATED, EXPIRED = "terminated", "expired"
_CANCEL_S = 1.0

_log = logging.getLogger(__name__)


class Figures(NamedTuple):
    """The figures of the subscriptions in this gateway's partitions.

    subscriptions: how many there are, by door and state.  lag_s: how long the oldest event has been
    waiting, by door.
    """

    subscriptions: Mapping[tuple[str, str], int]
    lag_s: Mapping[str, float]


class _Run(NamedTuple):
    courier: Courier
    task: asyncio.Task[None]


class Sender:
    """Delivers for the subscriptions that this gateway owns, as long as `run` does.

    doors: by name.  partitions: how many `push.subscriptions` has.
    """

    def __init__(
        self,
        context: SenderContext,
        doors: Mapping[str, Door],
        ownership: Ownership,
        partitions: Callable[[], int],
    ) -> None:
        self._context, self._doors = context, doors
        self._ownership, self._partitions = ownership, partitions
        self._changed = asyncio.Event()
        self._runs: dict[str, _Run] = {}
        self._owned: frozenset[int] = frozenset()
        self._looked_at: dict[str, int] = {}
        self._endings: dict[str, asyncio.Task[None]] = {}

    def wake(self) -> None:
        """Look at the subscriptions now; called on the event loop."""
        self._changed.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            while True:
                self._changed.clear()
                try:
                    await self._reconcile()
                except HeadraceError as exc:
                    _log.warning("subscriptions are looked at again: %s", exc.message)
                except Exception:
                    _log.exception("subscriptions are looked at again")
                try:
                    async with asyncio.timeout(self._context.pace.tick):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            for id in list(self._runs):
                await self._dismiss(id)
            endings = list(self._endings.values())
            for task in endings:
                task.cancel()
            await asyncio.gather(*endings, return_exceptions=True)

    def figures(self) -> Figures:
        """Count what this gateway delivers for."""
        subscriptions = {(door, state.value): 0 for door in self._doors for state in State}
        for entry in self._mine().values():
            subscription = entry.subscription
            if subscription is not None and subscription.door in self._doors:
                subscriptions[subscription.door, entry.state.value] += 1
        now, lag_s = self._context.clock(), dict.fromkeys(self._doors, 0.0)
        for courier, _ in self._runs.values():
            if courier.pending_at is not None:
                door = courier.subscription.door
                lag_s[door] = max(lag_s.get(door, 0.0), (now - courier.pending_at) / 1000)
        return Figures(subscriptions, lag_s)

    async def _reconcile(self) -> None:
        """Let couriers work for what is this gateway's, and for nothing else."""
        owned = self._ownership.partitions()
        taken = owned - self._owned
        self._owned &= owned
        await self._dismiss_others(self._mine())
        if taken:  # what the one before has written must be known
            await self._context.store.catch_up()
            self._owned = owned
        for id, entry in self._mine().items():
            await self._tend(id, entry)

    async def _dismiss_others(self, mine: Mapping[str, Entry]) -> None:
        """Let the couriers of what is not there any more, or begun anew, go."""
        for id, (courier, _) in list(self._runs.items()):
            subscription = mine.get(id, Entry()).subscription
            if subscription is None or subscription.revision != courier.subscription.revision:
                await self._dismiss(id)

    def _mine(self) -> dict[str, Entry]:
        """Return the entries of the partitions that are this gateway's."""
        count = self._partitions()
        entries = self._context.store.entries()
        if not count or not self._owned:
            return {}
        return {
            id: entry
            for id, entry in entries.items()
            if partition_of(id.encode(), count) in self._owned
        }

    async def _tend(self, id: str, entry: Entry) -> None:
        """Do what is due for one subscription."""
        now, pace = self._context.clock(), self._context.pace
        subscription, door = entry.subscription, None
        if subscription is not None:
            door = self._doors.get(subscription.door)
        if subscription is None or entry.state is State.ENDED:
            delivery = entry.delivery
            if delivery is not None and now - delivery.at >= pace.kept_after_end * 1000:
                await self._context.store.remove(id)
            return
        if id in self._endings:
            return
        if subscription.is_expired(now):
            await self._finish(id, EXPIRED)
        elif door is None or entry.state is State.SUSPENDED:
            return
        elif self._is_look_due(id, now) and not door.may_receive(subscription):
            await self._finish(id, TERMINATED, door)
        elif id in self._runs:
            self._runs[id].courier.refresh(subscription)
            if self._runs[id].task.done():
                await self._dismiss(id)
        else:
            courier = Courier(self._context, entry)
            task = asyncio.create_task(courier.run(door), name=f"push {id}")
            task.add_done_callback(lambda _: self.wake())
            self._runs[id] = _Run(courier, task)

    def _is_look_due(self, id: str, now: int) -> bool:
        """Return whether it is time to check the principal, and note that it is checked."""
        if now - self._looked_at.get(id, 0) < self._context.pace.look * 1000:
            return False
        self._looked_at[id] = now
        return True

    async def _finish(self, id: str, reason: str, door: Door | None = None) -> None:
        """Begin to end a subscription.  door: it is said once that no more events come."""
        await self._dismiss(id)
        task = asyncio.create_task(self._end(id, reason, door), name=f"push end {id}")
        task.add_done_callback(lambda _: self._endings.pop(id, None))
        self._endings[id] = task

    async def _end(self, id: str, reason: str, door: Door | None) -> None:
        entry, now = self._context.store.entry(id), self._context.clock()
        if entry.subscription is None:
            return
        if reason == EXPIRED and not entry.subscription.is_expired(now):
            return  # it was refreshed at the last moment
        courier = Courier(self._context, entry)
        farewell = None if door is None else door.farewell(courier)
        if farewell is not None:
            await courier.post_once(farewell)
        await courier.end(reason)

    async def _dismiss(self, id: str) -> None:
        """Let the courier of a subscription go."""
        self._looked_at.pop(id, None)
        run = self._runs.pop(id, None)
        if run is not None:
            while not run.task.done():  # a library may have taken the first one for its own
                run.task.cancel()
                await asyncio.wait([run.task], timeout=_CANCEL_S)
