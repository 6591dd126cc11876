"""What the broker is told about each topic."""

from __future__ import annotations

import pytest

from topology import topics
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.asap import ASAP_MANIFESTS
from topology.core import RTES_RAW
from topology.declarations import Topic, TopicKind
from topology.otel import OTEL_SPANS
from topology.retention import DAY_MS, HOUR_MS, KIB, MIB
from topology.saop import RTES_EVENTS, RTES_REJECTIONS
from topology.sap import SAP_OUTCOMES, SAP_VERDICTS
from topology.topics import ALL, config_of, dead_letters_of, full_name

INPUTS = [topic for topic in ALL if topic.is_input]


def ids(topic: Topic) -> str:
    return topic.name


@pytest.mark.parametrize("topic", INPUTS, ids=ids)
def test_inputs_carry_the_time_of_the_broker(topic: Topic) -> None:
    assert config_of(topic)["message.timestamp.type"] == "LogAppendTime"


@pytest.mark.parametrize("topic", ALL, ids=ids)
def test_every_topic_says_how_it_is_kept(topic: Topic) -> None:
    config = config_of(topic)
    kinds = (TopicKind.TABLE, TopicKind.CHANGELOG, TopicKind.DOOR)
    compacted = topic.kind in kinds or topic is ASAP_MANIFESTS
    assert config["cleanup.policy"] == ("compact" if compacted else "delete")
    assert ("delete.retention.ms" in config) == compacted
    assert config["max.message.bytes"] == str(topic.max_bytes)
    assert config["retention.bytes"] == "-1"
    assert "min.insync.replicas" not in config


RETENTION = {
    TopicKind.COMMAND: -1,
    TopicKind.FACT: -1,
    TopicKind.TABLE: -1,
    TopicKind.CHANGELOG: -1,
    TopicKind.INBOX: 30 * DAY_MS,
    TopicKind.DEAD_LETTER: 90 * DAY_MS,
    TopicKind.INTERNAL: -1,
    TopicKind.COLLECTOR: -1,
    TopicKind.AUDIT: -1,
    TopicKind.DOOR: -1,
}
SHORTER = {RTES_RAW: 24 * HOUR_MS, OTEL_SPANS: 24 * HOUR_MS}


@pytest.mark.parametrize("topic", ALL, ids=ids)
def test_records_are_kept_as_long_as_their_kind_says(topic: Topic) -> None:
    assert config_of(topic)["retention.ms"] == str(SHORTER.get(topic, RETENTION[topic.kind]))


@pytest.mark.parametrize("topic", INPUTS, ids=ids)
def test_a_dead_letter_has_room_for_the_input_and_its_headers(topic: Topic) -> None:
    dead = dead_letters_of(topic)
    assert dead.name == f"{topic.name}.dlq"
    assert dead.kind is TopicKind.DEAD_LETTER
    assert dead.max_bytes == topic.max_bytes + 64 * KIB


def test_only_inputs_have_dead_letters() -> None:
    with pytest.raises(KeyError):
        dead_letters_of(APC_EVENTS)


def test_sizes_leave_room_for_what_is_decided_about_an_input() -> None:
    assert APC_PACKETS.max_bytes == MIB
    assert APC_EVENTS.max_bytes == 4 * MIB
    assert RTES_RAW.max_bytes == 8 * MIB
    assert RTES_EVENTS.max_bytes == RTES_REJECTIONS.max_bytes == 16 * MIB
    assert all(topic.max_bytes == 4 * MIB for topic in ALL if topic.kind is TopicKind.TABLE)


def test_a_fact_that_a_processor_reads_is_kept_and_placed_as_an_input() -> None:
    assert [topic for topic in ALL if topic.keyed_fact] == [SAP_VERDICTS]
    assert SAP_VERDICTS.is_input
    assert SAP_VERDICTS.internal
    assert not SAP_VERDICTS.same_partition
    assert config_of(SAP_VERDICTS)["message.timestamp.type"] == "LogAppendTime"
    assert SAP_OUTCOMES.same_partition
    assert not SAP_OUTCOMES.internal


def test_all_topics_but_dead_letters_have_the_partitions_of_the_environment() -> None:
    counts = {topic.name: topics.partitions_of(topic, 8) for topic in ALL}
    assert counts["apc.packets.dlq"] == counts["apc.transfers.dlq"] == counts["rtes.raw.dlq"] == 1
    assert {count for name, count in counts.items() if not name.endswith(".dlq")} == {8}


def test_the_prefix_comes_before_the_name() -> None:
    assert full_name(APC_PACKETS) == "apc.packets"
    assert full_name(APC_PACKETS, "acme.") == "acme.apc.packets"


def test_a_topic_may_add_settings_of_its_own() -> None:
    topic = Topic("t", TopicKind.COMMAND, None, "k", "m", config=(("min.compaction.lag.ms", "5"),))
    assert config_of(topic)["min.compaction.lag.ms"] == "5"
