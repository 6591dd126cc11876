"""Test that a worker whose link is too slow for a full batch halves it, and decides all once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.ops.broker import network
from streams.ops.broker.local import new_cluster_id
from tests.chaos.three_brokers import Node
from tests.e2e.environment import Environment
from tests.integration.detour import Detour, detour_thread
from tests.processes import wait_for
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_PACKETS

PACKETS, TEXT_BYTES = 60, 24_000
BYTES_PER_S = 150_000.0
"""Too slow for a batch of all packets within the ten seconds of a transaction."""
_LONG_S = 400.0
_SINGLE = {
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@contextmanager
def broker_behind_a_link(directory: Path) -> Iterator[tuple[str, str, Detour]]:
    """Run a broker with an address of its own, and one by which all traffic takes a detour.

    Yields both addresses and the detour.
    """
    fast, slow, controller = network.pick_ports([], 3)
    addresses = f"CLIENTS://127.0.0.1:{fast},SLOW://127.0.0.1"
    with detour_thread(lambda: f"http://127.0.0.1:{slow}") as detour:
        link = detour.url.removeprefix("http://")
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,SLOW:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "listeners": f"{addresses}:{slow},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"CLIENTS://127.0.0.1:{fast},SLOW://{link}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        }
        node, cluster_id = Node(directory, _SINGLE | settings), new_cluster_id()
        node.format(cluster_id)
        node.start()
        try:
            wait_for(lambda: network.cluster_id(fast) == cluster_id, "the broker", _LONG_S, 0.2)
            yield f"127.0.0.1:{fast}", link, detour
        finally:
            node.end()


def test_a_batch_that_the_link_cannot_carry_in_time_is_halved_and_decided_once(
    tmp_path: Path, dice: random.Random
) -> None:
    with (
        broker_behind_a_link(tmp_path / "broker") as (bootstrap, link, detour),
        Environment(bootstrap, tmp_path) as environment,
    ):
        worker = environment.start("slow", BOOTSTRAP=link, BATCH=str(PACKETS))
        worker.wait_text("ready: tasks [0, 1, 2, 3]", _LONG_S)
        detour.bytes_per_s = BYTES_PER_S
        texts = [dice.randbytes(TEXT_BYTES // 2).hex() for _ in range(PACKETS)]
        values = [
            packet("IDEA", number, payload={"intent": text}) for number, text in enumerate(texts)
        ]
        positions = environment.send([environment.packet(value) for value in values])
        environment.drain(_LONG_S, [APC_PACKETS])
        answers = environment.await_answers(positions)
        assert [kind for kind, _ in answers] == ["fact"] * PACKETS
        assert "is closed and opens again" in worker.text()
        assert worker.running
        detour.bytes_per_s = None
        worker.end(_LONG_S)
        environment.verify()
