"""Faust's consumer: what is fetched goes to the tasks, what is assigned is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from faust.transport.drivers import aiokafka as driver

from streams.engine.faust_host.app import HostApp
from streams.engine.faust_host.thread import DENIED, ConsumerThread
from streams.engine.records import TopicPartition
from streams.engine.runner import TaskRunner
from streams.errors import AccessDenied, InputTruncated, NotCoPartitioned

_TELL_GROUP_S = 1.0
_LONGEST_TELL_S = 5.0
_POLL_S = 0.1
_POLL_SOME_S = 0.01
_NOT_HUNGRY_S = 0.005


class Consumer(driver.Consumer):
    """Moves fetched lists to tasks; opens, parks and closes tasks on rebalances."""

    app: HostApp
    _thread: ConsumerThread
    _told: Mapping[TopicPartition, int] = MappingProxyType({})

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: Any) -> None:
        return None  # its livelock warnings assume agents

    async def perform_seek(self) -> None:
        return None  # Faust would cancel it at the next rebalance; each task seeks when restored

    async def seek_tasks(self, positions: Mapping[TopicPartition, int]) -> None:
        await self.seek_wait({driver._TopicPartition(*tp): n for tp, n in positions.items()})

    async def confirmed(self) -> bool:
        return bool(await self._thread.call_thread(self._thread.confirmed))

    async def on_start(self) -> None:
        await super().on_start()
        self.add_future(self._tell_group_at_times())

    async def _tell_group_at_times(self) -> None:
        while not self.should_stop:
            await self.sleep(_TELL_GROUP_S)
            if denied := await self._thread.call_thread(self._thread.denied):
                await self.app.fail(AccessDenied(f"Kafka does not allow it: {denied}"))
                return
            await self._tell_group()

    async def _tell_group(self) -> None:
        """Outside of the transactions, each of which it would cost two more round trips."""
        runners = self.app.task_set.runners.values()
        stand = {tp: n for r in runners for tp, n in r.task.decided().items()}
        news = {tp: n for tp, n in stand.items() if self._told.get(tp) != n}
        if not news or self.crashed:
            return  # a crash ends the consumer's thread, and a call to that never returns
        try:
            async with asyncio.timeout(_LONGEST_TELL_S):
                told = await self._thread.call_thread(self._thread.tell_group, news)
        except TimeoutError:
            return
        if told:
            self._told = stand

    async def on_partitions_assigned(self, assigned: set[Any], generation_id: int = 0) -> None:
        await super().on_partitions_assigned(assigned, generation_id)
        if self.should_stop:  # another worker has left while this one does
            return
        if missing := self.app.group_assignor.missing:
            await self.app.fail(_disagree(missing))
            return
        numbers = {tp.partition for tp in assigned}
        wanted = {(t, p) for t in self.app.task_set.topics for p in numbers}
        if {(tp.topic, tp.partition) for tp in assigned} != wanted:
            await self.app.fail(NotCoPartitioned(f"the group assigned parts of tasks: {assigned}"))
            return
        await self.app.task_set.assigned(numbers, self.seek_tasks, self.confirmed)

    async def on_partitions_revoked(self, revoked: set[Any]) -> None:
        self.stop_flow()
        await self.app.task_set.park()
        await super().on_partitions_revoked(revoked)

    async def on_stop(self) -> None:
        await self.app.task_set.park()
        await self._tell_group()
        await self.app.task_set.close()
        await super().on_stop()

    async def _drain_messages(self, fetcher: Any) -> None:
        try:
            while not (self.should_stop or fetcher.should_stop):
                if not self.flow_active:
                    await self.wait(self.can_resume_flow)
                await self._fetch_once()
        except (asyncio.CancelledError, *self.consumer_stopped_errors):
            if not self.app.should_stop:
                raise

    async def _fetch_once(self) -> None:
        runners = self.app.task_set.runners
        ready = {r: (r.epoch, r.sought) for r in runners.values() if r.ready}
        wanted = {tp for r in ready for tp in r.task.hungry()}
        if not wanted:  # never ask with an empty set: that drains every partition
            await asyncio.sleep(_NOT_HUNGRY_S if ready else _POLL_SOME_S * 5)
            return
        wait = _POLL_S if len(ready) == len(runners) else _POLL_SOME_S
        try:
            fetched = await self._getmany(wanted, wait)
        except NoOffsetForPartitionError:
            return  # of a partition that its task has not sought yet
        except OffsetOutOfRangeError as exc:
            await self.app.fail(_truncated(exc.args[0]))
            return
        except DENIED as exc:
            await self.app.fail(AccessDenied(f"Kafka does not allow it: {exc}"))
            return
        for tp, records in (fetched or {}).items():
            await self._hand_over(TopicPartition(*tp), records, ready)
        for runner, (epoch, sought) in ready.items():
            if sought and runner.sought and runner.epoch == epoch:
                self._report(runner)

    async def _hand_over(
        self,
        tp: TopicPartition,
        records: Sequence[Any],
        ready: Mapping[TaskRunner, tuple[int, bool]],
    ) -> None:
        """Give records to the task that asked for them, in the epoch in which it asked.

        A fetch that began before the task's seek had returned may lie anywhere, and one that
        outlived a rebalance is another epoch's: both are dropped and sought back.
        """
        runner = self.app.task_set.runners.get(tp.partition)
        if runner is None or not runner.ready:
            return
        if ready.get(runner) == (runner.epoch, True):
            runner.task.put(tp, records)
            runner.wake()
        else:
            await self.seek_tasks({tp: runner.task.seek_of(tp)})

    def _report(self, runner: TaskRunner) -> None:
        """Tell the task where the consumer stands, which runs ahead of it over markers."""
        for tp, position, end in self._thread.moved(runner.task.tps, runner.told):
            runner.task.fetched_to(tp, position, end)


class Transport(driver.Transport):
    Consumer = Consumer


def _disagree(missing: frozenset[str]) -> NotCoPartitioned:
    return NotCoPartitioned(
        f"other workers of this group also read {', '.join(sorted(missing))}",
        advice="Start it from the version of the others, with their settings.",
    )


def _truncated(places: Mapping[Any, int]) -> InputTruncated:
    told = ", ".join(f"{tp.topic}/{tp.partition} at {offset}" for tp, offset in places.items())
    return InputTruncated(f"records were deleted before they were read: {told}")
