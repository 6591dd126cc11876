"""A disk that has no room left: the worker says so and waits, and goes on when there is some."""

from __future__ import annotations

import random

from streams.engine.records import position
from tests.chaos import exact
from tests.chaos.cluster import Cluster
from tests.chaos.small_disk import Ballast, command

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
    asked = {position(record) for record in cluster.sent[-IDS:]}
    assert [fact.n for fact in facts if fact.cause in asked] == [ROUNDS + 1] * IDS
