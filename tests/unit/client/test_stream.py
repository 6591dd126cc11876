"""A stream that is left, waited for, shared and closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from streams.client.stream import TailStream
from streams.client.transport import Step, TailRecord
from streams.errors import GatewayUnavailable
from tests.unit.client.loops import Run


class Source:
    """Steps that are given one by one.  closed: the generator has ended."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Step | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def steps(self) -> AsyncGenerator[Step, None]:
        try:
            yield Step("start")
            while (step := await self.queue.get()) is not None:
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed.set()

    def put(self, *numbers: int) -> None:
        records = [TailRecord(n, "rtes.events", 0, n, 0, f"c{n}") for n in numbers]
        self.queue.put_nowait(Step(records[-1].cursor, records))


def test_records_come_in_order_with_a_cursor_behind_each(run: Run) -> None:
    async def test() -> None:
        source = Source()
        source.put(1, 2)
        source.put(3)
        source.queue.put_nowait(None)
        stream = TailStream(source.steps())
        assert not stream.cursor
        assert [(r.value, stream.cursor) async for r in stream] == [(1, "c1"), (2, "c2"), (3, "c3")]
        assert [r async for r in stream] == []

    run(test())


def test_entering_fixes_where_it_begins(run: Run) -> None:
    async def test() -> None:
        source = Source()
        async with TailStream(source.steps()) as stream:
            assert stream.cursor == "start"
            source.queue.put_nowait(Step("moved"))
            source.put(1)
            assert (await anext(stream)).value == 1
        assert source.closed.is_set()

    run(test())


def test_giving_up_waiting_loses_nothing(run: Run) -> None:
    async def test() -> None:
        source = Source()
        async with TailStream(source.steps()) as stream:
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.001):
                        await anext(stream)
            source.put(1)
            source.put(2)
            assert [(await anext(stream)).value for _ in range(2)] == [1, 2]

    run(test())


def test_several_tasks_share_one_stream(run: Run) -> None:
    async def test() -> None:
        source = Source()
        async with TailStream(source.steps()) as stream:

            async def take() -> list[Any]:
                return [(await anext(stream)).value for _ in range(50)]

            takers = [asyncio.create_task(take()) for _ in range(4)]
            for n in range(100):
                await asyncio.sleep(0)
                source.put(2 * n, 2 * n + 1)
            taken = await asyncio.gather(*takers)
            assert sorted(n for some in taken for n in some) == list(range(200))

    run(test())


def test_closing_ends_it_for_a_task_that_waits(run: Run) -> None:
    async def test() -> None:
        source = Source()
        stream = TailStream(source.steps())
        waiting = asyncio.ensure_future(anext(stream, None))
        while stream.cursor is None:
            await asyncio.sleep(0)
        await stream.aclose()
        assert await waiting is None
        assert source.closed.is_set()
        await stream.aclose()

    run(test())


@pytest.mark.parametrize("waited", [False, True])
def test_a_stream_that_is_dropped_is_closed(run: Run, waited: bool) -> None:
    async def leave(source: Source) -> None:
        stream = TailStream(source.steps())
        async for _ in stream:
            break
        if waited:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await anext(stream)

    async def test() -> None:
        source = Source()
        source.put(1)
        await leave(source)
        gc.collect()
        await source.closed.wait()

    run(test())


def test_an_error_comes_after_what_came_before_it_and_once(run: Run) -> None:
    async def test() -> None:
        source = Source()
        source.put(1)
        source.queue.put_nowait(GatewayUnavailable("gone"))
        stream = TailStream(source.steps())
        assert (await anext(stream)).value == 1
        with pytest.raises(GatewayUnavailable):
            await anext(stream)
        assert await anext(stream, None) is None

    run(test())


def test_what_is_there_is_taken_without_waiting(run: Run) -> None:
    async def test() -> None:
        source = Source()
        async with TailStream(source.steps()) as stream:
            assert await stream.take_ready() == []
            source.put(1, 2)
            source.put(3)
            assert (await anext(stream)).value == 1
            ready: list[Any] = []
            while len(ready) < 2:
                ready += [record.value for record in await stream.take_ready()]
            assert (ready, stream.cursor) == ([2, 3], "c3")
            source.put(4)
            assert (await anext(stream)).value == 4
            source.queue.put_nowait(None)
            assert [r async for r in stream] == []
            assert await stream.take_ready() == []

    run(test())
