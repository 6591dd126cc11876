"""A broker that is gone for a while: the worker waits, and goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.ops import broker
from streams.ops.broker import network
from streams.settings import Settings
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.processes import wait_for
from tests.toy import FACTS

FROZEN_S = 12.0
"""Longer than a worker's session lasts, and than a transaction may be open."""
FENCED = "another owner has taken the task over"
GIVEN_UP = "is closed and opens again: "


class PrivateBroker:
    """One of the test's own, which comes back on the same port with the same data."""

    def __init__(self, state_dir: Path) -> None:
        (port,) = network.pick_ports([], 1)
        self._settings = Settings.load({}, state_dir=state_dir, broker_port=port)
        self.bootstrap = self.start()

    def start(self) -> str:
        status = broker.run(self._settings, foreground=False)
        assert status.running
        assert status.bootstrap is not None
        return status.bootstrap

    def signal(self, number: signal.Signals) -> None:
        pid = broker.status(self._settings).pid
        assert pid is not None
        os.kill(pid, number)

    def end(self) -> None:
        broker.stop(self._settings)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateBroker]:
    broker = PrivateBroker(tmp_path / "broker")
    yield broker
    broker.end()


@pytest.mark.parametrize(
    ("how", "away_s"), [("killed", 20.0), pytest.param("frozen", 15.0, marks=pytest.mark.slow)]
)
def test_a_worker_waits_for_a_broker_that_is_away_and_goes_on(
    private: PrivateBroker, tmp_path: Path, dice: random.Random, how: str, away_s: float
) -> None:
    with Cluster(private.bootstrap, tmp_path) as cluster:
        cluster.send_counts(20_000, dice)
        worker = cluster.start("only")
        facts = cluster.tail(FACTS)
        facts.until(dice.randrange(1, 8000))
        private.signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        gone = time.monotonic()
        wait_for(lambda: time.monotonic() - gone > away_s, "the broker was away")
        assert worker.running
        if how == "killed":
            assert private.start() == private.bootstrap
        else:
            private.signal(signal.SIGCONT)
        cluster.send_counts(2000, dice)
        cluster.drain()
        assert worker.running
        worker.end()
        exact.check(cluster)
        exact.check_stores(cluster, "only")


@pytest.mark.slow
def test_a_worker_whose_session_ends_while_its_broker_is_frozen_is_fenced(
    private: PrivateBroker, tmp_path: Path, dice: random.Random
) -> None:
    """It has transactions at the broker, and hears of nothing before another one has its tasks."""
    with Cluster(private.bootstrap, tmp_path) as cluster:
        cluster.send_counts(20_000, dice)
        zombie = cluster.start("zombie")
        cluster.tail(FACTS).until(dice.randrange(1, 8000))
        private.signal(signal.SIGSTOP)
        gone = time.monotonic()
        heir = cluster.start("heir")
        wait_for(lambda: time.monotonic() - gone > 1.0, "its tasks wait for their commits")
        zombie.stop()
        wait_for(lambda: time.monotonic() - gone > FROZEN_S, "the broker was frozen")
        private.signal(signal.SIGCONT)
        heir.wait_ready(*range(PARTITIONS))
        length = len(zombie.text())
        zombie.wake()
        wait_for(lambda: "ready: tasks" in zombie.text()[length:], "the zombie is back")
        output = zombie.text()[length:]
        # A task gives records up by itself that are old when it wakes, unless it first hears more:
        # that it is fenced, that the group has taken its partition, or that the commit or the
        # records it had under way have failed.
        assert FENCED in output or GIVEN_UP in output
        cluster.send_counts(2000, dice)
        cluster.drain()
        assert FENCED not in heir.text()
        cluster.end_all()
        exact.check(cluster)
