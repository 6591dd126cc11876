"""Faust's consumer: fetched records go to the tasks, assigned partitions are opened."""

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
from streams.errors import AccessDenied, InputTruncated, NotCoPartitioned, TopicsMismatch

_TELL_GROUP_S = 1.0
_LONGEST_TELL_S = 5.0
_POLL_S = 0.1
_POLL_SOME_S = 0.01
_BUFFERS_FULL_S = 0.005


class Consumer(driver.Consumer):
    """A consumer that hands fetched lists to tasks, and opens and closes tasks on rebalances."""

    app: HostApp
    _thread: ConsumerThread
    _told: Mapping[TopicPartition, int] = MappingProxyType({})

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: Any) -> None:
        return None  # Faust's livelock warnings assume agents

    async def perform_seek(self) -> None:
        return None  # Faust would cancel it at the next rebalance; each task seeks when restored

    async def seek_tasks(self, positions: Mapping[TopicPartition, int]) -> None:
        await self.seek_wait({driver._TopicPartition(*tp): n for tp, n in positions.items()})

    async def confirmed(self) -> bool:
        return bool(await self._thread.call_thread(self._thread.confirmed))

    async def on_start(self) -> None:
        await super().on_start()
        self.add_future(self._tell_group_periodically())

    async def _tell_group_periodically(self) -> None:
        while not self.should_stop:
            await self.sleep(_TELL_GROUP_S)
            if denied := await self._thread.call_thread(self._thread.denied):
                await self.app.fail(AccessDenied(f"Kafka does not allow it: {denied}"))
                return
            if gone := await self._thread.call_thread(self._thread.gone_topics):
                await self.app.fail(_deletion_error(gone))
                return
            await self._tell_group()

    async def _tell_group(self) -> None:
        """Commit offsets outside of transactions, where they would cost two round trips each."""
        runners = self.app.task_set.runners.values()
        positions = {tp: n for r in runners for tp, n in r.task.committed_offsets().items()}
        updates = {tp: n for tp, n in positions.items() if self._told.get(tp) != n}
        if not updates or self.crashed:
            return  # a crash ends the consumer's thread, and a call to that never returns
        try:
            async with asyncio.timeout(_LONGEST_TELL_S):
                is_committed = await self._thread.call_thread(self._thread.tell_group, updates)
        except TimeoutError:
            return
        if is_committed:
            self._told = positions

    async def on_partitions_assigned(self, assigned: set[Any], generation_id: int = 0) -> None:
        if self.app.leave_group is not None:
            self.app.leave_group.joined(self._thread.member_id())
        await super().on_partitions_assigned(assigned, generation_id)
        if self.should_stop:  # another worker has left while this one stops
            return
        if missing := self.app.group_assignor.missing:
            await self.app.fail(_input_mismatch(missing))
            return
        numbers = {tp.partition for tp in assigned}
        expected = {(t, p) for t in self.app.task_set.topics for p in numbers}
        if {(tp.topic, tp.partition) for tp in assigned} != expected:
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
        tps = {tp for r in ready for tp in r.task.partitions_to_fetch()}
        if not tps:  # never ask with an empty set: that drains every partition
            await asyncio.sleep(_BUFFERS_FULL_S if ready else _POLL_SOME_S * 5)
            return
        wait = _POLL_S if len(ready) == len(runners) else _POLL_SOME_S
        try:
            batches = await self._getmany(tps, wait)
        except NoOffsetForPartitionError:
            return  # the partition's task has not sought yet
        except OffsetOutOfRangeError as exc:
            await self.app.fail(_truncation_error(exc.args[0]))
            return
        except DENIED as exc:
            await self.app.fail(AccessDenied(f"Kafka does not allow it: {exc}"))
            return
        for tp, records in (batches or {}).items():
            await self._deliver_records(TopicPartition(*tp), records, ready)
        for runner, (epoch, sought) in ready.items():
            if sought and runner.sought and runner.epoch == epoch:
                self._report_position(runner)

    async def _deliver_records(
        self,
        tp: TopicPartition,
        records: Sequence[Any],
        ready: Mapping[TaskRunner, tuple[int, bool]],
    ) -> None:
        """Give records to the task that requested them, in the epoch in which it did.

        A fetch that began before the task's seek had returned may be at any offset, and one that
        outlived a rebalance belongs to another epoch: both are dropped, and the consumer seeks
        back.
        """
        runner = self.app.task_set.runners.get(tp.partition)
        if runner is None or not runner.ready:
            return
        if ready.get(runner) == (runner.epoch, True):
            runner.task.put(tp, records)
            runner.wake()
        else:
            await self.seek_tasks({tp: runner.task.next_fetch_offset(tp)})

    def _report_position(self, runner: TaskRunner) -> None:
        """Tell the task the consumer's position, which runs ahead of it over markers."""
        for tp, position, end in self._thread.position_changes(runner.task.tps, runner.told):
            runner.task.set_fetch_position(tp, position, end)


class Transport(driver.Transport):
    Consumer = Consumer


def _input_mismatch(missing: frozenset[str]) -> NotCoPartitioned:
    return NotCoPartitioned(
        f"other workers of this group also read {', '.join(sorted(missing))}",
        advice="Start it from the version of the others, with their settings.",
    )


def _deletion_error(topics: Sequence[str]) -> TopicsMismatch:
    return TopicsMismatch(
        f"topics are gone while they are read: {', '.join(topics)}",
        advice="Whoever deleted them deleted their records: docs/operations.md says what to do.",
    )


def _truncation_error(offsets: Mapping[Any, int]) -> InputTruncated:
    ranges = ", ".join(f"{tp.topic}/{tp.partition} at {offset}" for tp, offset in offsets.items())
    return InputTruncated(f"records were deleted before they were read: {ranges}")
