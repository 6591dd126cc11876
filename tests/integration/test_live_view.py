"""A live view beside a real worker on real Kafka."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import decode
from streams.protocols.apc.queries import packets as apc
from streams.view_store.live import LiveView
from streams.views.keys import key
from streams.views.parse import parse_position
from streams.views.positions import Position
from tests.e2e.environment import Environment
from tests.processes import wait_for
from tests.unit.envelopes import ack, idea
from topology.apc import APC_EVENTS

pytestmark = pytest.mark.slow

IN_A_ROW = 250
AT_ONCE = 16


@pytest.fixture(scope="module")
def environment(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(broker, tmp_path_factory.mktemp("live")) as environment:
        environment.start("worker").wait_ready(*environment.numbers)
        yield environment


@pytest.fixture
def live(environment: Environment, tmp_path: Path) -> Iterator[LiveView]:
    view = LiveView(environment.log, tmp_path / "view", environment.settings)
    view.start()
    wait_for(lambda: view.status().ready, "ready", 60)
    yield view
    view.stop()


class Client:
    """Sends an idea, then its acknowledgement, and looks at both after each."""

    def __init__(self, environment: Environment, live: LiveView, session: str) -> None:
        self._environment = environment
        self._live = live
        self._session = session

    async def _send(self, packet: dict[str, Any]) -> Position:
        output = self._environment.packet(packet)
        (record,) = await asyncio.to_thread(self._environment.log.append, [output])
        return Position(record.topic, record.partition, record.offset)

    async def both(self, number: int) -> None:
        made = idea(number, trace__session_id=self._session, packet_id=str(uuid.uuid4()))
        made["trace"]["root_packet_id"] = made["packet_id"]
        await self._sees(made, "ROUTED", made["packet_id"])
        answer = ack(made, number, packet_id=str(uuid.uuid4()))
        await self._sees(answer, "ARCHIVED", made["packet_id"])

    async def _sees(self, packet: dict[str, Any], state: str, of: str) -> None:
        position = await self._send(packet)
        await self._live.wait_async(position, 30)
        with self._live.reader() as reads:
            row = apc.packet(reads, self._session, of)
            rows = reads.scan(key("fact", self._session, packet["packet_id"]))
            facts = [decode(fact, APC_EVENTS.record or "").value for _, fact in rows]
        assert row["state"] == state, f"stale at {position}"
        verdicts = [fact["cause"] for fact in facts if fact["verdict"] == "accepted"]
        assert verdicts == ["/".join(map(str, position))]


@pytest.mark.asyncio
async def test_a_client_reads_its_own_writes_again_and_again(
    environment: Environment, live: LiveView
) -> None:
    client = Client(environment, live, "in-a-row")
    for number in range(IN_A_ROW // 2):
        await client.both(number)


@pytest.mark.asyncio
async def test_clients_beside_each_other_read_their_own_writes(
    environment: Environment, live: LiveView
) -> None:
    clients = [Client(environment, live, f"beside-{number}") for number in range(AT_ONCE)]
    for number in range(20):
        await asyncio.gather(*[client.both(number) for client in clients])


def test_a_copy_deleted_while_it_is_served_is_rebuilt(
    environment: Environment, live: LiveView, tmp_path: Path
) -> None:
    packet = idea(1, trace__session_id="deleted")
    (position,) = environment.send([environment.packet(packet)])
    live.wait(parse_position(position), 30)
    shutil.rmtree(tmp_path / "view", ignore_errors=True)
    wait_for(lambda: live.stats().rebuilds == 2, "begun anew", 30)
    live.wait(parse_position(position), 60)
    with live.reader() as reads:
        assert apc.packet(reads, "deleted", packet["packet_id"])["state"] == "ROUTED"
