"""However a client loses its connection, it gets every record it wants once, in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.gateway.live_tail import TailHub
from streams.log.filters import Filters
from tests.examples import example_count
from tests.unit.gateway.sse.harness import (
    PULSE,
    TRANSITION,
    Bench,
    Client,
    connect,
    frames_of,
    places,
    run,
)

SESSIONS = ("a", "b", "c/d")
KINDS = (PULSE, TRANSITION)
TASKS = (None, "t1", "t2")

records = st.tuples(st.sampled_from(SESSIONS), st.sampled_from(KINDS), st.sampled_from(TASKS))
filters = st.builds(
    Filters,
    st.sets(st.sampled_from(SESSIONS)),
    st.sets(st.sampled_from(KINDS)),
    st.sets(st.sampled_from(TASKS[1:])),
)
recent = st.sampled_from([0, 3, 1000])  # events that a client need not read for
# What is written, how many records are then read, and whether client or hub begin anew.
steps = st.tuples(
    st.lists(records, max_size=12),
    st.integers(0, 12),
    st.sampled_from(["stay", "reconnect", "restart"]),
)


class Reader:
    """A client that keeps what it got over its connections."""

    def __init__(self, filters: Filters) -> None:
        self.wanted = filters
        self.got: list[Any] = []
        self.owed = 0
        self.client: Client | None = None
        self._cursor: str | None = None

    async def connect(self, hub: TailHub) -> None:
        if self.client is not None:
            await self.client.close()
            self._cursor = self.client.cursor
        self.client = await connect(hub, self.wanted, "earliest", self._cursor)

    async def read(self, count: int) -> None:
        assert self.client is not None
        records = await self.client.records(min(count, self.owed))
        self.got += records
        self.owed -= len(records)

    def wants(self, session_id: str, kind: str, task_id: str | None) -> bool:
        filters = self.wanted
        return (
            (not filters.sessions or session_id in filters.sessions)
            and (not filters.kinds or kind in filters.kinds)
            and (not filters.tasks or (task_id or _own(kind)) in filters.tasks)
        )


def _own(kind: str) -> str | None:
    return "t" if kind == TRANSITION else None


@settings(max_examples=example_count(60), deadline=None)
@given(st.integers(1, 3), recent, filters, st.lists(steps, max_size=8))
def test_each_record_once_and_in_order(
    partitions: int, recent: int, stream_filters: Filters, script: list[tuple[list[Any], int, str]]
) -> None:
    run(_scenario(partitions, recent, stream_filters, script))


async def _scenario(
    partitions: int, recent: int, filters: Filters, script: list[tuple[list[Any], int, str]]
) -> None:
    bench, reader, expected = Bench(partitions), Reader(filters), []
    last = [(session_id, kind, task_id) for session_id in SESSIONS for kind in KINDS
            for task_id in TASKS]  # fmt: skip
    sections: list[list[tuple[list[Any], int, str]]] = [[]]
    for step in [*script, (last, 1_000, "stay")]:
        sections[-1].append(step)
        if step[2] == "restart":
            sections.append([])
    for section in sections:
        async with bench.hub(max_recent=recent) as hub:
            await reader.connect(hub)
            for written, count, then in section:
                if written:
                    bench.commit(*[bench.record(s, k, t) for s, k, t in written])
                fitting = [record for record in written if reader.wants(*record)]
                expected += fitting
                reader.owed += len(fitting)
                await reader.read(count)
                if then == "reconnect":
                    await reader.connect(hub)
    assert reader.owed == 0
    for session_id in SESSIONS:
        of_session = [record for record in reader.got if record["session_id"] == session_id]
        sequences = [record["sequence"] for record in of_session]
        assert sequences == sorted(set(sequences))
        assert [(r["session_id"], r["payload"]["type"], r["task_id"]) for r in of_session] == [
            record for record in expected if record[0] == session_id
        ]


@settings(max_examples=example_count(30), deadline=None)
@given(st.integers(1, 3), recent, st.integers(0, 30), st.integers(0, 30), st.booleans())
def test_streams_that_begin_while_records_come_join_without_gap(
    partitions: int, recent: int, before: int, during: int, one_session: bool
) -> None:
    async def scenario() -> None:
        bench = Bench(partitions)
        filters = Filters("a") if one_session else Filters()
        for _ in range(before):
            bench.send("a", 2)
            bench.send("b", 2)
        async with bench.hub(max_recent=recent) as hub:
            client = await connect(hub, filters, "earliest")
            for _ in range(during):
                bench.send("a")
            read = places(await client.records(2 * before * (1 if one_session else 2) + during))
            sequences = [sequence for session_id, sequence in read if session_id == "a"]
            assert sequences == list(range(1, 2 * before + during + 1))

    run(scenario())


@pytest.mark.parametrize("recent", [0, 7, 1000])
def test_every_id_is_a_cursor_to_go_on_from(recent: int) -> None:
    async def scenario() -> None:
        bench = Bench(2)
        for _ in range(10):
            bench.send("a", 2)
            bench.send("b", 1)
        async with bench.hub(max_recent=recent) as hub:
            for filters in (Filters(), Filters("a"), Filters(["a", "b"])):
                whole = await connect(hub, filters, "earliest")
                cursors, read = [whole.cursor], []
                for _ in range(20 if filters.session_id else 30):
                    read += places(await whole.records(1))
                    cursors.append(whole.cursor)
                for seen, cursor in enumerate(cursors):
                    resumed = await connect(hub, filters, cursor=cursor)
                    assert places(await resumed.records(len(read) - seen)) == read[seen:]
                    await resumed.close()
                await whole.close()

    run(scenario())


def test_a_cursor_of_another_gateway_that_is_ahead_waits_for_this_one() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("s", 3)
        async with bench.hub() as hub:
            await connect(hub)
            bench.send("s", 3)  # seen elsewhere, perhaps before this hub has read it
            client = await connect(hub, cursor="0:5")
            of_session = await connect(hub, Filters("s"), cursor="s:5")
            bench.send("s")
            assert places(await client.records(2)) == [("s", 6), ("s", 7)]
            assert places(await of_session.records(2)) == [("s", 6), ("s", 7)]

    run(scenario())


def test_a_frame_is_one_event_of_the_wire_format() -> None:
    async def scenario() -> None:
        bench = Bench(1)
        bench.send("s", line="two\nlines \u2028 é")
        async with bench.hub() as hub:
            client = await connect(hub, Filters("s"), "earliest")
            (value,) = await client.records(1)
            assert value["payload"]["line"] == "two\nlines \u2028 é"
            (frame,) = frames_of(b'id: 0:1\ndata: {"a":1}\n\n')
            assert (frame.id, frame.data, frame.event) == ("0:1", {"a": 1}, None)

    run(scenario())
