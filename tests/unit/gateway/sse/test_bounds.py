"""Slow clients, silence, and the end of a hub."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from streams.gateway.live_tail import TailBusy
from streams.log.cursors import CursorAhead
from streams.log.filters import Filters
from tests.unit.gateway.sse.harness import (
    PATIENCE_S,
    TRANSITION,
    Bench,
    Frame,
    connect,
    places,
    run,
)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("filters", [Filters(), Filters("s"), Filters(["s", "t"])])
def test_a_slow_client_is_told_where_to_go_on(filters: Filters) -> None:
    async def scenario() -> None:
        bench = Bench(2, rtes_tail_records=10)
        async with bench.hub() as hub:
            slow, quick = await connect(hub, filters), await connect(hub, filters)
            bench.send("s", 3)
            records = await slow.records(3)
            assert places(await quick.records(3)) == places(records)
            for _ in range(11):
                bench.send("s")
                await quick.records(1)
            await until(lambda: slow.stream.subscriber.end)
            (last,) = await slow.read_to_end()
            assert last == Frame(event="overflow", data={"cursor": slow.cursor})
            await slow.close()
            again = await connect(hub, filters, cursor=last.data["cursor"])
            records += await again.records(11)
            assert places(records) == [("s", n) for n in range(1, 15)]
            bench.send("s")
            assert places(await quick.records(1)) == [("s", 15)]

    run(scenario())


def test_the_bytes_that_wait_are_bounded_too() -> None:
    async def scenario() -> None:
        bench = Bench(1, rtes_tail_bytes=100_000)
        async with bench.hub() as hub:
            client = await connect(hub)
            bench.send("s", 3, line="x" * 60_000)
            await until(lambda: client.stream.subscriber.end)
            assert [frame.event for frame in await client.read_to_end()] == ["overflow"]

    run(scenario())


def test_a_record_larger_than_the_bound_is_delivered() -> None:
    async def scenario() -> None:
        bench = Bench(1, rtes_tail_bytes=100_000)
        async with bench.hub() as hub:
            live = await connect(hub)
            bench.send("s", line="x" * 500_000)
            assert len((await live.records(1))[0]["payload"]["line"]) == 500_000
            later = await connect(hub, start="earliest")
            assert len((await later.records(1))[0]["payload"]["line"]) == 500_000

    run(scenario())


def test_a_long_past_does_not_overflow_a_client_that_reads() -> None:
    async def scenario() -> None:
        bench = Bench(2, rtes_tail_records=4)
        for number in range(300):
            bench.send(f"s{number % 7}", 5)
        async with bench.hub() as hub:
            client = await connect(hub, start="earliest")
            assert len(set(places(await client.records(1500)))) == 1500

    run(scenario())


@pytest.mark.parametrize("sessions", [(), ("s",), ("s", "t")])
def test_silence_is_interrupted_by_heartbeats_and_the_cursor_moves_on(
    sessions: tuple[str, ...],
) -> None:
    async def scenario() -> None:
        bench = Bench(1)
        filters = Filters(sessions, TRANSITION)
        async with bench.hub() as hub:
            hub.heartbeat_s = 0.05
            client = await connect(hub, filters)
            opened = client.cursor
            assert await client.frame() == Frame(comment="heartbeat")
            bench.send("s", 2)
            bench.send("t", 2)
            last = "s:2" if len(sessions) == 1 else "0:4"
            while client.cursor != last:
                frame = await client.frame()
                assert frame == Frame(client.cursor if client.cursor != opened else None,
                                      comment="heartbeat")  # fmt: skip
                opened = client.cursor
            again = await connect(hub, filters, cursor=client.cursor)
            bench.send("s", kind=TRANSITION)
            assert places(await again.records(1)) == places(await client.records(1)) == [("s", 3)]

    run(scenario())


def test_a_heartbeat_without_filtered_records_is_a_comment_alone() -> None:
    async def scenario() -> None:
        bench = Bench(2)
        bench.send("s", 3)
        async with bench.hub() as hub:
            hub.heartbeat_s = 0.02
            for filters in (Filters(), Filters("s"), Filters(kind=TRANSITION)):
                for start in ("earliest", "latest"):
                    client = await connect(hub, filters, start)
                    if start == "earliest" and not filters.kinds:
                        await client.records(3)
                    elif start == "earliest":
                        assert (await client.frame() or Frame()).id == client.cursor
                    assert [await client.frame() for _ in range(3)] == [
                        Frame(comment="heartbeat")
                    ] * 3

    run(scenario())


def test_a_hub_that_stops_gives_every_client_its_cursor() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        async with bench.hub() as hub:
            filters = Filters(kind=TRANSITION)
            clients = [await connect(hub, filters), await connect(hub, Filters("s"))]
            bench.send("s", 2)
            await clients[1].records(2)
            hub.drain()
            assert [await client.read_to_end() for client in clients] == [
                [Frame(id="0:1")],
                [Frame(id="s:2")],
            ]
            with pytest.raises(TailBusy, match="stopping"):
                await connect(hub)
            for client in clients:
                await client.close()
            assert hub.clients == 0

    run(scenario())


@pytest.mark.parametrize("recent", [0, 3000])
@pytest.mark.parametrize("filters", [Filters(), Filters("s"), Filters(["s", "t"])])
def test_a_hub_that_stops_while_a_client_catches_up_loses_nothing_of_it(
    filters: Filters, recent: int
) -> None:
    async def scenario() -> None:
        bench = Bench(1, rtes_tail_records=4)
        for _ in range(500):
            bench.send("s", 2)
        async with bench.hub(max_recent=recent) as hub:
            client = await connect(hub, filters, "earliest")
            records = await client.records(3)
            hub.drain()
            await asyncio.sleep(0.05)
            last_frames = await client.read_to_end()
            records += [frame.data for frame in last_frames if frame.data is not None]
            assert len(records) < 20
        async with bench.hub() as hub:
            again = await connect(hub, filters, cursor=client.cursor)
            records += await again.records(1000 - len(records))
            assert places(records) == [("s", n) for n in range(1, 1001)]

    run(scenario())


def test_clients_are_counted_and_limited() -> None:
    async def scenario() -> None:
        async with Bench().hub(max_clients=2) as hub:
            first, _ = await connect(hub), await connect(hub)
            assert hub.clients == 2
            with pytest.raises(TailBusy, match="2 clients"):
                await connect(hub)
            await first.close()
            assert hub.clients == 1
            await connect(hub)

    run(scenario())


def test_a_topic_that_is_created_anew_ends_the_streams_and_their_cursors() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("s", 5)
        async with bench.hub() as hub:
            client = await connect(hub, start="earliest")
            await client.records(5)
            bench.recreate()
            assert await client.read_to_end() == [Frame(id=client.cursor)]
            with pytest.raises(CursorAhead):
                await connect(hub, cursor=client.cursor)
            anew = await connect(hub, start="earliest")
            bench.send("s")
            assert places(await anew.records(1)) == [("s", 1)]

    run(scenario())


def test_a_topic_that_is_missing_is_waited_for() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.log.delete("rtes.events")
        async with bench.hub(patience_s=0.05) as hub:
            with pytest.raises(TailBusy, match="cannot be read"):
                await connect(hub)
            bench.create()
            hub.patience_s = PATIENCE_S
            client = await connect(hub)
            bench.send("s")
            assert places(await client.records(1)) == [("s", 1)]

    run(scenario())
