from __future__ import annotations

from collections.abc import Sequence

import pytest

from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.errors import SettingsError, TopicsMismatch
from streams.ops import topics as admin
from streams.settings import Settings
from topology import topics
from topology.apc import APC_PACKETS, APC_PACKETS_DLQ
from topology.core import RTES_RAW
from topology.saop import SAOP_TURNS

SETTINGS = Settings(partitions=3)


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog(lambda: 0)


def test_on_an_empty_log_every_topic_is_missing(log: MemoryLog) -> None:
    planned = admin.plan(log, SETTINGS)
    assert [one.topic for one in planned] == list(topics.ALL)
    assert {one.status for one in planned} == {admin.TopicStatus.MISSING}
    with pytest.raises(TopicsMismatch, match="headrace topics create"):
        admin.require_topics(log, SETTINGS)


def test_topics_are_created_with_their_partitions(log: MemoryLog) -> None:
    created = admin.create_topics(log, SETTINGS)
    assert [one.topic for one in created] == list(topics.ALL)
    there = log.topics()
    assert there[APC_PACKETS.name].partitions == 3
    assert there[APC_PACKETS_DLQ.name].partitions == 1
    assert {one.status for one in admin.plan(log, SETTINGS)} == {admin.TopicStatus.THERE}
    admin.require_topics(log, SETTINGS)


def test_creating_again_creates_nothing(log: MemoryLog) -> None:
    admin.create_topics(log, SETTINGS)
    ids = log.topic_ids(log.topics())
    assert admin.create_topics(log, SETTINGS) == []
    assert log.topic_ids(log.topics()) == ids


def test_only_what_is_missing_is_created(log: MemoryLog) -> None:
    log.create([NewTopic(APC_PACKETS.name, 3, {})])
    created = admin.create_topics(log, SETTINGS)
    assert APC_PACKETS not in [one.topic for one in created]
    assert len(created) == len(topics.ALL) - 1


def test_another_number_of_partitions_is_refused_and_nothing_created(log: MemoryLog) -> None:
    log.create([NewTopic(APC_PACKETS.name, 2, {})])
    with pytest.raises(TopicsMismatch, match=r"apc\.packets has 2, not 3") as caught:
        admin.create_topics(log, SETTINGS)
    assert "HEADRACE_PARTITIONS" in str(caught.value)
    assert list(log.topics()) == [APC_PACKETS.name]
    with pytest.raises(TopicsMismatch):
        admin.require_topics(log, SETTINGS)


def test_a_prefix_makes_another_set_of_topics(log: MemoryLog) -> None:
    admin.create_topics(log, SETTINGS)
    created = admin.create_topics(log, Settings(partitions=5, prefix="acme."))
    assert {one.name for one in created} == {f"acme.{topic.name}" for topic in topics.ALL}


class Watched(MemoryLog):
    """Says which topics it was told to create."""

    def __init__(self) -> None:
        super().__init__(lambda: 0)
        self.made: list[NewTopic] = []

    def create(self, topics: Sequence[NewTopic]) -> None:
        self.made += topics
        super().create(topics)


def test_how_long_raw_events_are_kept_is_a_setting() -> None:
    log = Watched()
    admin.create_topics(log, Settings(rtes_raw_retention_h=2))
    retention = {topic.name: topic.config["retention.ms"] for topic in log.made}
    assert retention[RTES_RAW.name] == "7200000"
    assert retention[SAOP_TURNS.name] == "-1"


def test_replicas_are_as_set_and_else_the_brokers_default() -> None:
    unset, with_replicas = Watched(), Watched()
    admin.create_topics(unset, SETTINGS)
    assert {topic.replicas for topic in unset.made} == {None}
    assert not any("min.insync.replicas" in topic.config for topic in unset.made)
    admin.create_topics(with_replicas, Settings(replication_factor=3, min_insync_replicas=2))
    assert {topic.replicas for topic in with_replicas.made} == {3}
    assert {topic.config["min.insync.replicas"] for topic in with_replicas.made} == {"2"}


def test_more_replicas_in_sync_than_there_are_to_be_is_refused(log: MemoryLog) -> None:
    with pytest.raises(SettingsError, match="nothing could be written"):
        admin.create_topics(log, Settings(replication_factor=1, min_insync_replicas=2))
    assert log.topics() == {}
