"""Three brokers, three replicas, of which two must be in sync: brokers die, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.three_brokers import BROKERS, MIN_IN_SYNC, REPLICAS, ThreeBrokers, three_brokers
from tests.processes import wait_for
from tests.toy import FACTS, toy_topics

INTERNAL = ("__transaction_state", "__consumer_offsets")
_LONG_S = 240.0
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


@pytest.fixture
def cluster(brokers: ThreeBrokers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(brokers.bootstrap, tmp_path_factory.mktemp("workers")) as cluster:
        yield cluster
        brokers.restore()


def names(cluster: Cluster) -> list[str]:
    return [topic.name for topic in toy_topics(PARTITIONS, cluster.prefix)]


def wait_in_sync(brokers: ThreeBrokers, topics: Sequence[str], count: int) -> None:
    """Until each partition has so many replicas in sync."""
    wait_for(lambda: brokers.in_sync(topics) == count, f"{count} in sync", _LONG_S, 0.2)


def test_workers_go_on_while_one_broker_after_another_is_down(
    brokers: ThreeBrokers, cluster: Cluster, dice: random.Random
) -> None:
    facts = cluster.tail(FACTS)
    first, second = cluster.start("first"), cluster.start("second")
    timed = [f"t{n}" for n in range(200)]
    cluster.send([cluster.record(ident, timer=dice.randrange(1, 20_000)) for ident in timed])
    with cluster.trickle(dice):
        first.wait_ready()
        second.wait_ready()
        facts.until(facts.poll() + 1000)
        assert brokers.replicas(names(cluster)) == {REPLICAS}
        for victim in dice.sample(BROKERS, 2):
            wait_in_sync(brokers, [*names(cluster), *INTERNAL], REPLICAS)
            brokers.kill(victim)
            facts.until(facts.poll() + dice.randrange(1000, 4000), _LONG_S)
            brokers.restart(victim)
        facts.until(facts.poll() + 1000, _LONG_S)
    cluster.drain(patience_s=_LONG_S)
    assert first.running
    assert second.running
    second.end()
    first.wait_ready(*range(PARTITIONS))
    first.end()
    all_facts = exact.check(cluster)
    assert sorted(fact.id for fact in all_facts if fact.kind == "fired") == sorted(timed)
    exact.check_stores(cluster, "first")


def test_below_the_least_in_sync_workers_wait_and_then_go_on(
    brokers: ThreeBrokers, cluster: Cluster, dice: random.Random
) -> None:
    count = 30_000
    cluster.send_counts(count, dice)
    wait_in_sync(brokers, names(cluster), REPLICAS)
    facts = cluster.tail(FACTS)
    worker = cluster.start("only", BATCH="20")
    facts.until(dice.randrange(1, 3000))
    one, other = dice.sample(BROKERS, 2)
    brokers.kill(one, other)
    wait_in_sync(brokers, names(cluster), MIN_IN_SYNC - 1)
    length = len(worker.text())
    wait_for(
        lambda: "is closed and opens again" in worker.text()[length:], "it waits", _LONG_S, 0.1
    )
    stood = facts.poll()
    assert stood < count
    brokers.restart(one)
    facts.until(stood + 1, _LONG_S)
    cluster.send_counts(1000, dice)
    cluster.drain(patience_s=_LONG_S)
    assert worker.running
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")
    brokers.restart(other)
    wait_in_sync(brokers, names(cluster), REPLICAS)


def test_topics_are_created_with_the_replicas_that_are_set(
    brokers: ThreeBrokers, cluster: Cluster
) -> None:
    settings = Settings.load(
        {},
        prefix=f"{cluster.prefix}set.",
        partitions=1,
        replication_factor=2,
        min_insync_replicas=1,
    )
    made = [planned.name for planned in create_topics(cluster.log, settings)]
    try:
        assert brokers.replicas(made) == {2}
        configs = cluster.log.admin().configs(made)
        assert {config["min.insync.replicas"] for config in configs.values()} == {"1"}
    finally:
        cluster.log.delete(made)
