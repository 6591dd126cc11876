"""A disk that has no room left: the worker says so and waits, and goes on when there is some."""

from __future__ import annotations

import random

import pytest

from streams.engine.records import position
from streams.engine.worker import READY_FILE, worker_directory
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.small_disk import Ballast, command, inside
from tests.processes import wait_for

pytestmark = pytest.mark.slow

LONG = "x" * 12_000
"""So that a few thousand rows are more than RocksDB keeps in memory."""
IDS, ROUNDS = 1000, 4
"""The long rows, and how often each is written while there is no room."""


def test_a_full_disk_loses_nothing_and_ends_when_there_is_room(
    cluster: Cluster, dice: random.Random
) -> None:
    cluster.send_counts(2000, dice)
    state = cluster.state_dir("only")
    worker = cluster.start("only", before=command("160m", state))
    worker.wait_ready()
    cluster.drain()

    ballast = Ballast(worker.pid, state)
    ballast.fill()
    long_ones = [cluster.record(f"{n}-{LONG}") for n in range(IDS)]
    for _ in range(ROUNDS):
        cluster.send(long_ones)
    worker.wait_text("No space left on device", 90.0)
    assert worker.running

    ballast.remove()
    cluster.send_counts(1000, dice)
    cluster.drain()
    cluster.send(long_ones)  # each adds to the row that its store has kept
    cluster.drain()
    worker.end()
    facts = exact.check(cluster)
    positions = {position(record) for record in cluster.sent[-IDS:]}
    assert [fact.n for fact in facts if fact.cause in positions] == [ROUNDS + 1] * IDS


def test_a_worker_that_cannot_say_that_it_is_ready_goes_on_when_there_is_room(
    cluster: Cluster, dice: random.Random
) -> None:
    cluster.send_counts(2000, dice)
    state = cluster.state_dir("first")
    first = cluster.start("first", before=command("32m", state))
    first.wait_ready(*range(PARTITIONS))
    cluster.drain()

    ready = inside(first.pid, worker_directory(cluster.settings_of("first")) / READY_FILE)
    ready.unlink()  # else the room that it takes is enough to write it again
    ballast = Ballast(first.pid, state)
    ballast.fill()
    second = cluster.start("second")
    second.wait_ready()
    first.wait_text(f"{READY_FILE} cannot be written: No space left on device")
    assert first.running

    ballast.remove()
    wait_for(ready.exists, "it says that it is ready")
    cluster.send_counts(1000, dice)
    cluster.drain()
    first.end()
    second.end()
    exact.check(cluster)
