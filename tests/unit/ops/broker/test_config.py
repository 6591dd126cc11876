from __future__ import annotations

from streams.ops.broker import config, container


def test_both_listeners_are_on_loopback_only() -> None:
    properties = config.listeners(19640, 19641)
    assert properties["listeners"] == "CLIENTS://127.0.0.1:19640,CONTROLLER://127.0.0.1:19641"
    assert properties["advertised.listeners"] == "CLIENTS://127.0.0.1:19640"


def test_nothing_is_deleted_unless_a_topic_says_so() -> None:
    assert config.COMMON["log.retention.ms"] == "-1"
    assert config.COMMON["log.retention.bytes"] == "-1"
    assert config.COMMON["offsets.retention.minutes"] == "2147483647"


def test_one_node_can_hold_the_internal_topics() -> None:
    factors = {name: value for name, value in config.COMMON.items() if "replication" in name}
    assert len(factors) == 4
    assert set(factors.values()) == {"1"}
    assert config.COMMON["transaction.state.log.min.isr"] == "1"


def test_properties_escape_backslashes() -> None:
    assert config.properties({"log.dirs": r"a\b", "node.id": "1"}) == "log.dirs=a\\\\b\nnode.id=1\n"


def test_the_image_takes_settings_as_environment_variables() -> None:
    assert container.environment({"controller.quorum.voters": "1@h:1"}) == {
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@h:1"
    }
