"""Which worker may run where, and what the workers of a group must agree on."""

from __future__ import annotations

import random

import pytest

from streams.engine.records import TopicPartition
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.processes import wait_for
from tests.toy import FACTS, INPUT, SECOND


@pytest.mark.slow
def test_a_state_directory_belongs_to_one_worker(cluster: Cluster, dice: random.Random) -> None:
    first = cluster.start("only")
    first.wait_ready()
    second = cluster.start("only")
    assert second.exit_code() == 3
    assert "stopped: StateLocked" in second.text()
    assert "HEADRACE_STATE_DIR" in second.text()
    cluster.send_counts(500, dice)
    cluster.drain()
    first.end()
    exact.check(cluster)


@pytest.mark.slow
def test_lag_tools_see_where_the_tasks_stand(cluster: Cluster, dice: random.Random) -> None:
    inputs = [TopicPartition(cluster.prefix + INPUT.name, p) for p in range(PARTITIONS)]
    cluster.send_counts(2000, dice)
    worker = cluster.start("only")
    worker.wait_ready()
    wait_for(lambda: cluster.log.committed(inputs) == cluster.log.ends(inputs), "no lag")
    cluster.send_counts(2000, dice)
    cluster.drain()
    worker.end()
    assert cluster.log.committed(inputs) == cluster.log.ends(inputs)
    cluster.forget_group()
    cluster.start("only").wait_ready()
    wait_for(lambda: cluster.log.committed(inputs) == cluster.log.ends(inputs), "no lag, idle")


@pytest.mark.slow
def test_a_killed_worker_is_out_of_the_group_before_its_session_ends(
    cluster: Cluster, dice: random.Random
) -> None:
    cluster.send_counts(2000, dice)
    killed = cluster.start("killed", "lasting")
    cluster.tail(FACTS).until(500)
    assert cluster.count_members() == 1
    killed.kill()
    wait_for(lambda: cluster.count_members() == 0, "the group is empty")
    heir = cluster.start("heir")
    cluster.drain()
    heir.end()
    exact.check(cluster)


def test_an_input_can_be_added_to_state_that_is_kept(cluster: Cluster, dice: random.Random) -> None:
    cluster.send_counts(3000, dice)
    worker = cluster.start("only")
    cluster.tail(FACTS).until(500)
    worker.end()
    cluster.send([cluster.record(f"k{dice.randrange(500)}", SECOND) for _ in range(2000)])
    worker = cluster.start("only", "second")
    cluster.drain(INPUT, SECOND)
    worker.end()
    worker = cluster.start("only", "second")  # by now it is known: nothing is read again
    worker.wait_ready()
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")


@pytest.mark.slow
@pytest.mark.parametrize("late", ["the lesser version", "the fuller version"])
def test_a_worker_that_reads_fewer_topics_than_the_others_stops(
    cluster: Cluster, dice: random.Random, late: str
) -> None:
    arguments = {"lesser": [], "fuller": ["second"]}
    cluster.send_counts(1000, dice)
    workers = {}
    for name in sorted(arguments, reverse=late == "the fuller version"):
        workers[name] = cluster.start(name, *arguments[name])
        if len(workers) == 1:
            workers[name].wait_ready()
    assert workers["lesser"].exit_code() == 3
    text = workers["lesser"].text()
    assert "stopped: NotCoPartitioned" in text
    assert f"{cluster.prefix}toy.second" in text
    workers["fuller"].wait_ready(0, 1, 2, 3)
    cluster.send([cluster.record(f"k{dice.randrange(500)}", SECOND) for _ in range(500)])
    cluster.send_counts(1000, dice)
    cluster.drain(INPUT, SECOND)
    workers["fuller"].end()
    exact.check(cluster)
