"""The process that leaves a consumer group for a member that was killed, on a real Kafka."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka.admin import AdminClient

from streams.engine.faust_host.leave_group import LeaveGroupProcess, leave
from tests.contract.twins import KafkaTwin, until
from tests.processes import PATIENCE_S
from tests.toy import INPUT

SESSION_MS = 1_200_000
"""Far longer than a test waits, so a member that goes was taken out by a request."""


@pytest.fixture
def group() -> str:
    return f"leaving-{uuid.uuid4().hex[:10]}"


def count_members(broker: str, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker})
    return len(admin.describe_consumer_groups([group])[group].result(PATIENCE_S).members)


@asynccontextmanager
async def member_of(twin: KafkaTwin, broker: str, group: str) -> AsyncIterator[str]:
    """Join; gives the member's id.  At the end it stops without leaving, as a killed one does."""
    consumer = AIOKafkaConsumer(
        twin.prefix + INPUT.name,
        bootstrap_servers=broker,
        group_id=group,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=SESSION_MS // 4,
        enable_auto_commit=False,
    )
    await consumer.start()
    await consumer.getmany(timeout_ms=10)
    try:
        yield consumer._coordinator.member_id
    finally:
        with suppress(Exception):
            await consumer.stop()


def end_pipe(process: LeaveGroupProcess) -> int:
    """Do what the kernel does when the worker is killed; return the exit code of the process."""
    assert process._process is not None
    assert process._process.stdin is not None
    process._process.stdin.close()
    return process._process.wait(PATIENCE_S)


def test_a_member_leaves_when_the_pipe_ends(broker: str, kafka_twin: KafkaTwin, group: str) -> None:
    async def follow() -> tuple[int, int, int]:
        async with member_of(kafka_twin, broker, group) as member_id:
            process = LeaveGroupProcess(broker, {}, group)
            process.joined(member_id)
            before = await asyncio.to_thread(count_members, broker, group)
            code = await asyncio.to_thread(end_pipe, process)
            return before, code, await asyncio.to_thread(count_members, broker, group)

    assert asyncio.run(follow()) == (1, 0, 0)


def test_the_newest_member_id_is_the_one_that_leaves(
    broker: str, kafka_twin: KafkaTwin, group: str
) -> None:
    async def follow() -> tuple[int, int]:
        async with member_of(kafka_twin, broker, group) as member_id:
            process = LeaveGroupProcess(broker, {}, group)
            for name in ("of-an-earlier-generation", member_id):
                process.joined(name)
            code = await asyncio.to_thread(end_pipe, process)
            return code, await asyncio.to_thread(count_members, broker, group)

    assert asyncio.run(follow()) == (0, 0)


def test_closed_in_order_it_leaves_nothing(broker: str, kafka_twin: KafkaTwin, group: str) -> None:
    async def follow() -> int:
        async with member_of(kafka_twin, broker, group) as member_id:
            process = LeaveGroupProcess(broker, {}, group)
            process.joined(member_id)
            await asyncio.to_thread(process.close)
            assert process.pid is None
            return await asyncio.to_thread(count_members, broker, group)

    assert asyncio.run(follow()) == 1


def test_a_member_that_the_group_does_not_know_has_left(broker: str, group: str) -> None:
    asyncio.run(leave(broker, {}, group, "nobody"))


def test_a_worker_goes_on_if_the_process_is_killed(
    broker: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    process = LeaveGroupProcess(broker, {}, group)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    def is_known_dead() -> bool:
        process.joined(uuid.uuid4().hex)
        return process.pid is None

    until(is_known_dead)
    assert "will not be left if this worker is killed" in caplog.text
    process.joined("another")
    process.close()
