"""The live tail while its broker is away, and after its topic was created anew."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.gateway.live_tail import TailHub, hub
from streams.log.cursors import CursorAhead
from streams.log.filters import Filters
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.chaos.test_broker_away import PrivateBroker
from tests.processes import wait_for
from tests.unit.gateway.sse.harness import Bench, Frame, connect, places
from topology.saop import RTES_EVENTS

pytestmark = pytest.mark.slow

PATIENCE_S = 120.0
AWAY_S = 6.0


class KafkaBench(Bench):
    """The topic on a real broker."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(2)
        self.settings = Settings.load(
            {}, bootstrap=bootstrap, prefix=f"sse-{uuid4().hex[:8]}.", partitions=2
        )
        self.kafka = KafkaLog(bootstrap, {}, group_of(self.settings))
        self.topic = self.settings.prefix + RTES_EVENTS.name
        create_topics(self.kafka, self.settings)

    def write(self, session_id: str, count: int = 1) -> None:
        records = [self.record(session_id) for _ in range(count)]
        self.kafka.append([record._replace(topic=self.topic) for record in records])

    def recreate(self) -> None:
        self.sequences.clear()
        self.kafka.delete([self.topic])
        wait_for(lambda: self.topic not in self.kafka.topics(), "the topic is gone")
        create_topics(self.kafka, self.settings)

    @asynccontextmanager
    async def tail(self) -> AsyncIterator[TailHub]:
        tail = TailHub(self.kafka, replace(self.settings, rtes_heartbeat_s=1))
        tail.start()
        try:
            yield tail
        finally:
            await tail.stop(0.1)

    def close(self) -> None:
        mine = [name for name in self.kafka.topics() if name.startswith(self.settings.prefix)]
        self.kafka.delete(mine)
        self.kafka.close()


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateBroker]:
    broker = PrivateBroker(tmp_path / "broker")
    yield broker
    broker.end()


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_stream_outlasts_a_broker_that_is_away(private: PrivateBroker, how: str) -> None:
    async def scenario() -> None:
        bench = KafkaBench(private.bootstrap)
        async with bench.tail() as tail:
            of_session, of_all = await connect(tail, Filters("s")), await connect(tail)
            bench.write("s", 3)
            for client in (of_session, of_all):
                assert places(await client.records(3)) == [("s", 1), ("s", 2), ("s", 3)]
            private.signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
            until = time.monotonic() + AWAY_S
            while time.monotonic() < until:
                assert await of_session.frame() == Frame(comment="heartbeat")
            if how == "killed":
                await asyncio.to_thread(private.start)
            else:
                private.signal(signal.SIGCONT)
            await asyncio.to_thread(bench.write, "s", 2)
            for client in (of_session, of_all):
                assert places(await client.records(2)) == [("s", 4), ("s", 5)]
        bench.close()

    asyncio.run(asyncio.wait_for(scenario(), 2 * PATIENCE_S))


@pytest.mark.parametrize("records", [2, 9])
def test_a_topic_that_was_created_anew_ends_its_streams(
    broker: str, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    monkeypatch.setattr(hub, "_TOPIC_CHECK_S", 0.2)

    async def scenario() -> None:
        bench = KafkaBench(broker)
        bench.write("s", 5)
        async with bench.tail() as tail:
            client = await connect(tail, Filters("s"), "earliest")
            await client.records(5)
            await asyncio.to_thread(bench.recreate)
            await asyncio.to_thread(bench.write, "s", records)
            frames = await client.read_to_end()
            assert frames[-1] == Frame(id="s:5")
            assert {frame.data for frame in frames} == {None}
            if records < 5:
                with pytest.raises(CursorAhead):
                    await connect(tail, Filters("s"), cursor="s:5")
            anew = await connect(tail, Filters("s"), "earliest")
            event_places = places(await anew.records(records))
            assert event_places == [("s", n) for n in range(1, records + 1)]
        bench.close()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
