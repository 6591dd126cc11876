"""A topic read by a thread for a loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from streams.client.follower import AHEAD, Follower, Source
from streams.client.transport import Following, Step, TailRecord
from streams.log.cursors import CursorInvalid
from tests.unit.client.loops import Run
from tests.unit.envelopes import transition
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKETS
from topology.declarations import Topic
from topology.saop import RTES_EVENTS

CHAIN = [("PENDING", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")]


def follow(
    bench: Bench, start: str, session_id: str | None = None, topic: Topic = RTES_EVENTS
) -> AsyncGenerator[Step, None]:
    what = Following(topic.name, session_id, None, None, start)
    return Follower(Source(bench.log, topic, "", what)).steps()


def send(bench: Bench, *numbers: int) -> None:
    """Events of task t<number>, one for each number."""
    bench.send("rtes.raw", *[transition(n, task_id=f"t{n}") for n in numbers])


async def take(steps: AsyncGenerator[Step, None], count: int) -> list[TailRecord]:
    records: list[TailRecord] = []
    async for step in steps:
        records += step.records
        if len(records) >= count:
            break
    return records


def tasks(records: list[TailRecord]) -> list[str]:
    return [record.value["payload"]["task_id"] for record in records]


@pytest.mark.parametrize("session_id", [None, "s1"])
def test_only_what_comes_after_the_latest(run: Run, bench: Bench, session_id: str | None) -> None:
    async def test() -> None:
        send(bench, 1, 2)
        async with aclosing(follow(bench, "latest", session_id)) as steps:
            opening = await anext(steps)
            assert opening.records == ()
            send(bench, 3)
            (record,) = await take(steps, 1)
            assert tasks([record]) == ["t3"]
        async with aclosing(follow(bench, opening.cursor, session_id)) as steps:
            assert tasks(await take(steps, 1)) == ["t3"]

    run(test())


@pytest.mark.parametrize("session_id", [None, "s1"])
def test_every_record_has_a_cursor_to_go_on_from(
    run: Run, bench: Bench, session_id: str | None
) -> None:
    async def test() -> None:
        send(bench, *range(1, 8))
        async with aclosing(follow(bench, "earliest", session_id)) as steps:
            records = await take(steps, 7)
        assert [record.topic for record in records] == ["rtes.events"] * 7
        for number, record in enumerate(records[:-1], 1):
            async with aclosing(follow(bench, record.cursor, session_id)) as steps:
                assert tasks(await take(steps, 7 - number)) == tasks(records[number:])

    run(test())


def test_it_reads_no_further_ahead_than_it_may(run: Run, bench: Bench) -> None:
    async def test() -> None:
        count = AHEAD + 500
        bench.append("apc.packets", *[{**_packet(), "confidence": n / count} for n in range(count)])
        async with aclosing(follow(bench, "earliest", topic=APC_PACKETS)) as steps:
            records = await take(steps, count)
        assert len(records) == count
        assert max(record.timestamp or 0 for record in records) == bench.now

    run(test())


def test_leaving_early_ends_the_thread(run: Run, bench: Bench) -> None:
    async def test() -> None:
        bench.append("apc.packets", *[_packet() for _ in range(2 * AHEAD)])
        async with aclosing(follow(bench, "earliest", topic=APC_PACKETS)) as steps:
            await anext(steps)
            await anext(steps)

    run(test())


def test_what_opening_comes_to_is_raised(run: Run, bench: Bench) -> None:
    async def test() -> None:
        with pytest.raises(CursorInvalid):
            await anext(follow(bench, "nowhere"))

    run(test())


def test_cancelling_a_wait_ends_the_thread(run: Run, bench: Bench) -> None:
    async def test() -> None:
        steps = follow(bench, "latest")
        await anext(steps)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(steps)

    run(test())


def _packet() -> dict[str, object]:
    from tests.unit.envelopes import idea

    return idea()
