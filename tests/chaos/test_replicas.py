"""Three brokers, three replicas, of which two must be in sync: brokers die or freeze, and nothing
is lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.test_history_broker import check_whole
from tests.chaos.three_brokers import BROKERS, MIN_IN_SYNC, REPLICAS, ThreeBrokers, three_brokers
from tests.history.clients import PACKETS, Clients
from tests.history.site import INPUTS, Site
from tests.processes import wait_for
from tests.toy import FACTS, toy_topics
from topology.apc import APC_EVENTS

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


def test_a_broker_that_freezes_and_wakes_as_a_leader_of_old_changes_nothing(
    brokers: ThreeBrokers, cluster: Cluster, dice: random.Random
) -> None:
    facts = cluster.tail(FACTS)
    worker = cluster.start("only", BATCH="20")
    worker.wait_ready()
    wait_in_sync(brokers, [*names(cluster), *INTERNAL], REPLICAS)
    cluster.send_counts(30_000, dice)
    facts.until(dice.randrange(1, 3000), _LONG_S)
    victim = dice.choice(BROKERS)
    brokers.freeze(victim)
    brokers.thaw(victim)
    cluster.drain(patience_s=_LONG_S)
    assert worker.running
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")


class Failures:
    """Brokers that freeze or die, each amid a burst of all clients."""

    def __init__(self, brokers: ThreeBrokers, site: Site, clients: Clients) -> None:
        self._brokers, self._site, self._clients = brokers, site, clients
        self._topics = [f"{site.prefix}{topic.name}" for topic in INPUTS]

    def freeze(self, name: int, facts: int) -> None:
        """It freezes after so many of the facts to come, and wakes when others lead."""
        sending = self._burst_until(facts)
        self._brokers.freeze(name)
        self._acknowledge(sending)
        self._brokers.thaw(name)

    def kill(self, name: int, facts: int) -> None:
        sending = self._burst_until(facts)
        self._brokers.kill(name)
        self._acknowledge(sending)
        self._brokers.restart(name)

    def _burst_until(self, facts: int) -> Sequence[Future[None]]:
        wait_in_sync(self._brokers, [*self._topics, *INTERNAL], REPLICAS)
        tail = self._site.tail(APC_EVENTS)
        aim = tail.poll() + facts
        sending = self._clients.burst()
        tail.until(aim, _LONG_S)
        return sending

    @staticmethod
    def _acknowledge(sending: Sequence[Future[None]]) -> None:
        for client in sending:
            client.result(_LONG_S)


@pytest.mark.timeout(900)
def test_a_mixed_history_is_whole_though_one_broker_freezes_and_another_dies(
    brokers: ThreeBrokers, tmp_path: Path, dice: random.Random
) -> None:
    with Site(brokers.bootstrap, tmp_path) as site, site.view() as view:
        workers = [site.start_worker("first"), site.start_worker("second")]
        for worker in workers:
            worker.wait_ready()
        one, other = dice.sample(BROKERS, 2)
        with Clients(site, dice, stubborn=True) as clients:
            clients.begin()
            failures = Failures(brokers, site, clients)
            failures.freeze(one, dice.randrange(1, PACKETS // 2))
            view.catch_up(_LONG_S)
            failures.kill(other, dice.randrange(1, PACKETS // 2))
            site.settle(clients)
        check_whole(site, clients, view, workers)


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
