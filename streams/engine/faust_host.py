"""Faust as the host of tasks: group membership, rebalances, life cycle, signals.

Its agents, streams and tables are not used.  What it fetches is handed to tasks as whole lists;
delivery, state and exactly-once are the tasks' own.  The only module that imports faust and
aiokafka, whose internals it touches in five places, each marked with why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiokafka
import faust
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.group import HeartbeatRequest
from faust.app.base import BootStrategy
from faust.transport.drivers import aiokafka as driver

from streams.engine.assignment import Member, Share, assign
from streams.engine.records import TopicPartition
from streams.engine.runner import TaskRunner
from streams.engine.tasks import TaskSet
from streams.errors import AccessDenied, HeadraceError, InputTruncated, NotCoPartitioned
from streams.kafka_security import for_aiokafka
from streams.settings import Settings

log = logging.getLogger(__name__)

SESSION_TIMEOUT_S = 10.0
_HEARTBEAT_S = 1.0
_TELL_GROUP_S = 1.0
_LONGEST_TELL_S = 5.0
_MAX_POLL_S = 24 * 3600.0  # a long restore polls nothing
_FETCH_BYTES = 4 << 20
_FETCH_WAIT_MS = 500
_POLL_S = 0.1
_POLL_SOME_S = 0.01
_NOT_HUNGRY_S = 0.005
_DENIED = (GroupAuthorizationFailedError, TopicAuthorizationFailedError)


class WholeNumbers(AbstractPartitionAssignor):
    """The group protocol around `streams.engine.assignment`."""

    name = "headrace-numbers"

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._owned: tuple[int, ...] = ()
        self.missing: frozenset[str] = frozenset()

    def metadata(self, topics: Any) -> ConsumerProtocolMemberMetadata:
        owned = ",".join(map(str, self._owned)).encode()
        return ConsumerProtocolMemberMetadata(0, sorted(topics), owned)

    def assign(
        self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        shares = assign({name: _member(m) for name, m in members.items()}, self._partitions)
        return {
            name: _assignment(share, members[name].subscription) for name, share in shares.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        numbers = {p for _, partitions in assignment.assignment for p in partitions}
        self._owned = tuple(sorted(numbers))
        self.missing = frozenset(filter(None, assignment.user_data.decode().split(",")))


def _member(metadata: ConsumerProtocolMemberMetadata) -> Member:
    owned = [int(n) for n in (metadata.user_data or b"").decode().split(",") if n]
    return Member(frozenset(metadata.subscription), frozenset(owned))


def _assignment(share: Share, topics: Sequence[str]) -> ConsumerProtocolMemberAssignment:
    parts = [(topic, list(share.numbers)) for topic in sorted(topics)] if share.numbers else []
    return ConsumerProtocolMemberAssignment(0, parts, ",".join(sorted(share.missing)).encode())


class Boot(BootStrategy):
    """Without Faust's producer: tasks have their own, and it would not log in as we do."""

    enable_kafka_producer = False


class HostApp(faust.App):
    """A Faust app that hosts tasks."""

    BootStrategy = Boot
    headrace: Settings
    task_set: TaskSet
    group_assignor: WholeNumbers
    failure: HeadraceError | None = None

    async def fail(self, error: HeadraceError) -> None:
        """Stop the worker for a reason that `run` raises again."""
        if self.failure is None:
            self.failure = error
            log.error("the worker stops: %s: %s", error.code, error)
            await self.crash(error)


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread around a consumer with our settings."""

    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        # Faust offers neither read_committed without its own exactly_once, nor an assignor of
        # the app's, nor the fetch wait.
        app: HostApp = self.app
        self._assignor = app.group_assignor
        return aiokafka.AIOKafkaConsumer(
            bootstrap_servers=app.headrace.bootstrap,
            client_id="headrace",
            group_id=app.conf.id,
            group_instance_id=app.conf.consumer_group_instance_id,
            partition_assignment_strategy=[app.group_assignor],
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",  # tasks seek; a place that is gone must be said
            max_poll_records=None,
            max_poll_interval_ms=int(_MAX_POLL_S * 1000),
            max_partition_fetch_bytes=_FETCH_BYTES,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            check_crcs=False,
            session_timeout_ms=int(SESSION_TIMEOUT_S * 1000),
            rebalance_timeout_ms=60_000,
            heartbeat_interval_ms=int(_HEARTBEAT_S * 1000),
            **for_aiokafka(app.headrace.security()),
        )

    async def denied(self) -> str | None:
        """Why the group does not take us in, which aiokafka tells only to who fetches."""
        try:
            self._ensure_consumer()._coordinator.check_errors()
        except _DENIED as exc:
            return str(exc)
        return None

    async def confirmed(self) -> bool:
        """A heartbeat of our generation, sent now, is accepted.

        aiokafka's own heartbeat also succeeds during a rebalance, and says nothing.
        """
        coordinator = self._ensure_consumer()._coordinator
        request = HeartbeatRequest(
            coordinator.group_id, coordinator.generation, coordinator.member_id
        )
        try:
            answer = await coordinator._send_req(request)
        except Exception as exc:
            log.info("the group does not confirm: %r", exc)
            return False
        return bool(answer.error_code == 0)

    async def tell_group(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit the group's offsets, which serve lag tools only: a refusal is no failure.

        Not by the consumer's `commit`, which gives up the membership when a rebalance refuses it.
        """
        coordinator = self._ensure_consumer()._coordinator
        if coordinator.generation == OffsetCommitRequest.DEFAULT_GENERATION_ID:
            return False
        topics: dict[str, list[tuple[int, int, str]]] = {}
        for tp, offset in offsets.items():
            topics.setdefault(tp.topic, []).append((tp.partition, offset, ""))
        request = OffsetCommitRequest(
            coordinator.group_id,
            coordinator.generation,
            coordinator.member_id,
            OffsetCommitRequest.DEFAULT_RETENTION_TIME,
            list(topics.items()),
        )
        try:
            answer = await coordinator._send_req(request)
        except Exception as exc:
            log.info("the group does not take offsets: %r", exc)
            return False
        return not any(code for _, places in answer.topics for _, code in places)

    def stands_at(self, tps: Iterable[TopicPartition]) -> list[tuple[TopicPartition, int, int]]:
        """(partition, fetch position, last stable offset heard or 0), of those assigned."""
        subscription = self._ensure_consumer()._subscription.subscription
        assignment = subscription and subscription.assignment
        if not assignment:
            return []
        states = [(tp, assignment.state_value(tp)) for tp in tps if tp in assignment.tps]
        return [(tp, s._position, s.lso or 0) for tp, s in states if s._position is not None]


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
        except _DENIED as exc:
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
        for tp, position, end in self._thread.stands_at(runner.task.tps):
            runner.task.fetched_to(tp, position, end)


class Transport(driver.Transport):
    Consumer = Consumer


def _disagree(missing: frozenset[str]) -> NotCoPartitioned:
    return NotCoPartitioned(
        f"other workers of this group also read {', '.join(sorted(missing))}",
        advice="Start this worker from the same version, with the same settings.",
    )


def _truncated(places: Mapping[Any, int]) -> InputTruncated:
    told = ", ".join(f"{tp.topic}/{tp.partition} at {offset}" for tp, offset in places.items())
    return InputTruncated(f"records were deleted before they were read: {told}")


def run(
    settings: Settings,
    group: str,
    task_set: TaskSet,
    directory: Path,
    *,
    instance_id: str | None,
    background: Sequence[Callable[[], Awaitable[None]]] = (),
) -> None:
    """Host the tasks until SIGINT or SIGTERM.  Raises what stopped the worker otherwise.

    instance_id: for static membership, stable over restarts; None joins dynamically.
    """
    app = HostApp(
        group,
        broker=f"kafka://{(settings.bootstrap or '').replace(',', ';')}",
        store="memory://",
        datadir=str(directory / "faust"),
        web_enabled=False,
        topic_disable_leader=True,
        stream_wait_empty=False,
        broker_session_timeout=SESSION_TIMEOUT_S,
        broker_heartbeat_interval=_HEARTBEAT_S,
        consumer_group_instance_id=instance_id,
    )
    app.headrace = settings
    app.task_set = task_set
    app.group_assignor = WholeNumbers(settings.partitions)
    app.transport = Transport(app.conf.broker, app)
    task_set.on_failure = app.fail
    for topic in task_set.topics:  # a subscription without an agent
        app.topics.add(app.topic(topic, value_type=bytes))
    for job in background:
        app.task(job)
    # Faust would replace the handlers of the root logger, and drop all that is below a warning.
    worker = faust.Worker(app, override_logging=False, redirect_stdouts=False, quiet=True)
    worker.spinner = None  # it hides the cursor of a terminal that is not its own
    try:
        worker.execute_from_commandline()
    except SystemExit as exc:
        if app.failure is None and exc.code not in (0, None):
            raise
    if app.failure is not None:
        raise app.failure
