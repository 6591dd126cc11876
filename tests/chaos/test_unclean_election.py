"""Test that a restore ends with a code when an unclean election takes records away meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streams.engine.kafka import KafkaLog
from streams.engine.log import Pace, Reader
from streams.engine.records import Output, TopicPartition
from streams.engine.state import State
from streams.engine.task import group_of
from streams.errors import RestoreStalled
from tests.chaos.cluster import Cluster
from tests.chaos.test_replicas import names, wait_in_sync
from tests.chaos.three_brokers import BROKERS, REPLICAS, ThreeBrokers, three_brokers
from tests.processes import wait_for
from tests.toy import COUNTS, ROWS, toy_record

_LONG_S = 240.0
_NOW_MS = 1_000_000_000_000
COUNT, LOST = 300, 30
"""Records that a worker decides, and rows that only the leader has which dies."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


class InterruptedLog(KafkaLog):
    """A log where something happens between the question for ends and the first read."""

    interruption: Callable[[], None] | None = None

    def reader(self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END) -> Reader:
        if self.interruption is not None:
            self.interruption()
            self.interruption = None
        return super().reader(positions, pace)


def test_a_restore_does_not_wait_for_rows_that_an_unclean_election_has_lost(
    brokers: ThreeBrokers, tmp_path: Path, dice: random.Random
) -> None:
    with Cluster(brokers.bootstrap, tmp_path) as cluster:
        allow_losses(brokers, names(cluster))
        rows = TopicPartition(cluster.prefix + ROWS.name, 0)
        worker = cluster.start("before")
        cluster.send_counts(COUNT, dice)
        cluster.drain(patience_s=_LONG_S)
        worker.end(_LONG_S)
        known = {key for partition, key in cluster.fold(ROWS) if partition == rows.partition}
        wait_in_sync(brokers, names(cluster), REPLICAS)
        leader = brokers.leader(rows) or 0
        others = [name for name in BROKERS if name != leader]
        brokers.kill(*others)
        wait_in_sync(brokers, [rows.topic], 1)
        write_rows(cluster, rows, LOST)

        def elect() -> None:
            brokers.kill(leader)
            brokers.restart(dice.choice(others))
            wait_for(lambda: brokers.leader(rows) in others, "another leads", _LONG_S, 0.2)

        log = InterruptedLog(brokers.bootstrap, {}, group_of(cluster.settings))
        with closing(log):
            log.interruption = elect
            with closing(state_of(cluster, log, tmp_path)) as state, pytest.raises(RestoreStalled):
                state.open(_NOW_MS)
            with closing(state_of(cluster, log, tmp_path)) as state:
                state.open(_NOW_MS)
                assert {key for key, _ in state.scan(COUNTS.name)} == known
        brokers.restore()
        wait_in_sync(brokers, names(cluster), REPLICAS)
        cluster.start("after").wait_text("ready: tasks [0, 1, 2, 3]", _LONG_S)
        cluster.send_counts(COUNT, dice)
        cluster.drain(patience_s=_LONG_S)
        causes = [fact.cause for fact in cluster.facts()]
        assert len(causes) == len(set(causes)) == 2 * COUNT


def state_of(cluster: Cluster, log: KafkaLog, folder: Path) -> State:
    return State(folder / "state", log, cluster.prefix, 0, (COUNTS,))


def write_rows(cluster: Cluster, tp: TopicPartition, count: int) -> None:
    rows = (toy_record(f"lost{number}", topic=ROWS) for number in range(count))
    cluster.log.append([Output(tp.topic, row.key, row.value, (), tp.partition) for row in rows])


def allow_losses(brokers: ThreeBrokers, topics: list[str]) -> None:
    """Let one replica in sync be enough, and one that is not in sync lead."""
    entries = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
    resources = [
        ConfigResource(
            ResourceType.TOPIC,
            topic,
            incremental_configs=[
                ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                for name, value in entries.items()
            ],
        )
        for topic in topics
    ]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(30)
