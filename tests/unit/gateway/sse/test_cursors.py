"""Where a stream begins, and what its ids are."""

from __future__ import annotations

import pytest

from streams.log.cursors import CursorAhead, CursorExpired, CursorInvalid
from streams.log.filters import Filters
from tests.unit.gateway.sse.harness import TRANSITION, Bench, connect, places, run


def test_of_one_session_from_the_earliest_record() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.send("a/b c", 3)
        bench.send("other", 3)
        async with bench.hub() as hub:
            client = await connect(hub, Filters("a/b c"), "earliest")
            assert client.cursor == "a%2Fb%20c:0"
            assert places(await client.records(3)) == [("a/b c", n) for n in (1, 2, 3)]
            assert client.cursor == "a%2Fb%20c:3"
            bench.send("a/b c")
            assert places(await client.records(1)) == [("a/b c", 4)]

    run(scenario())


def test_of_one_session_from_its_latest_record() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.send("s", 100)
        async with bench.hub() as hub:
            client = await connect(hub, Filters("s"))
            unknown = await connect(hub, Filters(""))
            assert (client.cursor, unknown.cursor) == ("s:100", ":0")
            bench.send("s")
            bench.send("")
            assert places(await client.records(1)) == [("s", 101)]
            assert places(await unknown.records(1)) == [("", 1)]
            assert unknown.cursor == ":1"

    run(scenario())


@pytest.mark.parametrize("recent", [0, 1000])
@pytest.mark.parametrize("seen", [0, 1, 63, 64, 65, 127, 128, 200])
def test_a_session_goes_on_behind_any_sequence(seen: int, recent: int) -> None:
    async def scenario() -> None:
        bench = Bench(1)
        for _ in range(100):
            bench.send("s", 2)
            bench.send("other", 3)
        async with bench.hub(max_recent=recent) as hub:
            client = await connect(hub, Filters("s"), "earliest", f"s:{seen}")
            bench.send("s")
            read = places(await client.records(201 - seen))
            assert read == [("s", n) for n in range(seen + 1, 202)]

    run(scenario())


def test_of_all_sessions_the_cursor_names_every_partition() -> None:
    async def scenario() -> None:
        bench = Bench(3)
        async with bench.hub() as hub:
            for start in ("earliest", "latest"):
                assert (await connect(hub, start=start)).cursor == "0:-1,1:-1,2:-1"
            for number in range(8):
                bench.send(f"s{number}", 2)
            client = await connect(hub, start="earliest")
            assert sorted(places(await client.records(16))) == [
                (f"s{n}", sequence) for n in range(8) for sequence in (1, 2)
            ]
            again = await connect(hub, cursor=client.cursor)
            bench.send("s0")
            assert places(await again.records(1)) == places(await client.records(1)) == [("s0", 3)]

    run(scenario())


def test_the_latest_record_of_all_sessions() -> None:
    async def scenario() -> None:
        bench = Bench(2)
        for number in range(8):
            bench.send(f"s{number}", 2)
        async with bench.hub() as hub:
            client = await connect(hub)
            ends = bench.log.ends(bench.tps)
            assert client.cursor == ",".join(f"{tp.partition}:{ends[tp] - 1}" for tp in ends)
            bench.send("s0")
            assert places(await client.records(1)) == [("s0", 3)]

    run(scenario())


def test_a_partition_that_a_cursor_does_not_name_is_read_from_its_beginning() -> None:
    async def scenario() -> None:
        bench = Bench(2)
        for number in range(8):
            bench.send(f"s{number}", 2)
        end = bench.log.ends(bench.tps)[bench.tps[0]]
        async with bench.hub() as hub:
            client = await connect(hub, cursor=f"0:{end - 1}")
            assert client.cursor == f"0:{end - 1},1:-1"
            bench.send("last")
            read = places(await client.records(1))
            while read[-1][0] != "last":
                read += places(await client.records(1))
            lying = {name for name, _ in read[:-1]}
            assert lying == {f"s{n}" for n in range(8) if bench.number(f"s{n}") == 1}

    run(scenario())


def test_filters_within_a_kind_are_alternatives_and_kinds_are_combined() -> None:
    async def scenario() -> None:
        bench = Bench(2)
        filters = Filters(["a", "b"], [TRANSITION], ["t1", "t2"])
        for session_id in ("a", "b", "c"):
            bench.send(session_id)
            for task_id in ("t1", "t2", "t3"):
                bench.send(session_id, kind=TRANSITION, task_id=task_id)
        async with bench.hub() as hub:
            client = await connect(hub, filters, "earliest")
            live = await connect(hub, filters)
            read = await client.records(4)
            assert {(r["session_id"], r["task_id"]) for r in read} == {
                (session_id, task_id) for session_id in "ab" for task_id in ("t1", "t2")
            }
            bench.send("c", kind=TRANSITION, task_id="t1")
            bench.send("a", task_id="t1")
            bench.send("b", kind=TRANSITION, task_id="t2")
            assert places(await client.records(1)) == [("b", 5)]
            assert places(await live.records(1)) == [("b", 5)]

    run(scenario())


@pytest.mark.parametrize("cursor", ["", "x", "0", "0:", "0:1,", "0:-2", "s:1", "0:1,0:2", "١:1"])
def test_what_is_no_cursor_of_partitions(cursor: str) -> None:
    async def scenario() -> None:
        async with Bench().hub() as hub:
            with pytest.raises(CursorInvalid):
                await connect(hub, cursor=cursor)
            with pytest.raises(CursorInvalid):
                await connect(hub, Filters(["s", "t"]), cursor=cursor)
            assert hub.clients == 0

    run(scenario())


@pytest.mark.parametrize("cursor", ["", "s", "s:", "s:x", "s:-1", "t:1", "0:1,1:1", "s:١"])
def test_what_is_no_cursor_of_a_session(cursor: str) -> None:
    async def scenario() -> None:
        async with Bench().hub() as hub:
            with pytest.raises(CursorInvalid):
                await connect(hub, Filters("s"), cursor=cursor)

    run(scenario())


def test_a_cursor_beyond_the_end() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("s", 3)
        async with bench.hub() as hub:
            for filters, cursor in ((None, "0:4"), (None, "1:0"), (Filters("s"), "s:4")):
                with pytest.raises(CursorAhead):
                    await connect(hub, filters, cursor=cursor)
            for filters, cursor in ((None, "0:3"), (Filters("s"), "s:3")):
                assert (await connect(hub, filters, cursor=cursor)).cursor == cursor

    run(scenario())


def test_a_cursor_before_the_earliest_record_kept() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("gone", 2)
        bench.send("s", 5)
        bench.truncate("s", 5)
        async with bench.hub() as hub:
            for filters, cursor, earliest in (
                (None, "0:3", "0:4"),
                (Filters("s"), "s:1", "s:2"),
                (Filters("gone"), "gone:1", "gone:0"),
            ):
                with pytest.raises(CursorExpired) as caught:
                    await connect(hub, filters, cursor=cursor)
                assert caught.value.earliest == earliest
                client = await connect(hub, filters, cursor=earliest)
                assert client.cursor == earliest
            client = await connect(hub, Filters("s"), "earliest")
            assert places(await client.records(3)) == [("s", n) for n in (3, 4, 5)]

    run(scenario())


def test_records_that_are_deleted_while_the_hub_runs() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("s", 5)
        async with bench.hub() as hub:
            assert places(await (await connect(hub, Filters("s"), "earliest")).records(1))
            bench.truncate("s", 2)
            with pytest.raises(CursorExpired) as caught:
                await connect(hub, Filters("s"), cursor="s:1")
            assert caught.value.earliest == "s:2"

    run(scenario())
