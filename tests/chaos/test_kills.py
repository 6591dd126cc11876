"""Workers that are killed, that join and leave, and that are told to end."""

from __future__ import annotations

import random
import time

import pytest

from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import Worker
from tests.toy import FACTS


def test_every_record_is_decided_once_though_workers_are_killed_join_and_leave(
    cluster: Cluster, dice: random.Random
) -> None:
    count, kills = 20_000, 5
    timed = {f"t{i}" for i in range(count // 50)}
    records = [cluster.record(f"k{dice.randrange(500)}") for _ in range(count - len(timed))]
    records += [cluster.record(ident, timer=dice.randrange(1, 2000)) for ident in sorted(timed)]
    dice.shuffle(records)
    half = len(records) // 2
    cluster.send(records[:half])
    facts = cluster.tail(FACTS)
    first = cluster.start("first", "static")
    facts.until(dice.randrange(1, half // 8))
    second = cluster.start("second")
    for _ in range(kills - 1):
        facts.amid(dice, half)
        first.kill()
        first = cluster.start("first", "static")
    second.wait_ready()
    cluster.send(records[half:])
    facts.until(half + dice.randrange(1, half // 2))
    second.kill()
    second = cluster.start("second")
    second.wait_ready()
    second.end()
    cluster.drain()
    first.wait_ready(*range(PARTITIONS))  # it restores what the second one has left behind
    first.end()
    all_facts = exact.check(cluster)
    assert {fact.id for fact in all_facts if fact.kind == "fired"} == timed
    exact.check_stores(cluster, "first")


@pytest.mark.slow
def test_many_small_batches_survive_kills_and_stops(cluster: Cluster, dice: random.Random) -> None:
    count = 60_000
    cluster.send_counts(count, dice, ids=5000)
    ends = ["kill"] * 5 + ["end"] * 2
    dice.shuffle(ends)
    facts = cluster.tail(FACTS)

    def start() -> Worker:
        return cluster.start("only", "static", BATCH="50")

    worker = start()
    for end in ends:
        facts.until(min(count, facts.poll() + dice.randrange(1, count // 10)))
        time.sleep(dice.random() / 20)  # anywhere within a cycle
        worker.kill() if end == "kill" else worker.end()
        worker = start()
    cluster.drain()
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_in_mid_run_loses_nothing(
    cluster: Cluster, dice: random.Random
) -> None:
    count = 40_000
    cluster.send_counts(count, dice)
    facts = cluster.tail(FACTS)
    for _ in range(3):
        worker = cluster.start("only", BATCH="50")
        facts.until(facts.poll() + dice.randrange(1, 4000))
        worker.end()
        assert len(facts.catch_up()) < count
        exact.check_table(cluster, cluster.facts())
    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")
