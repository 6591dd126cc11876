"""All topics, in the order of documents and ACLs."""

from __future__ import annotations

from topology.core import TOPICS, TRANSPARENCY
from topology.declarations import Topic, TopicKind
from topology.protocols import DECLARED
from topology.retention import DELETE_RETENTION_MS, dead_letters

_OWN = tuple(topic for each in DECLARED for topic in each.topics)

ALL: tuple[Topic, ...] = (
    *(topic for topic in _OWN if topic.kind is not TopicKind.DEAD_LETTER),
    *TOPICS,
    *(topic for topic in _OWN if topic.kind is TopicKind.DEAD_LETTER),
)
EVERY: tuple[Topic, ...] = (*ALL, *TRANSPARENCY)
"""Also those that exist only where a transparency log is kept."""
BY_NAME = {topic.name: topic for topic in ALL}


def dead_letters_of(topic: Topic) -> Topic:
    """Return the dead-letter topic of this input; raise KeyError if it is no input."""
    if not topic.is_input:
        raise KeyError(topic.name)
    declared = BY_NAME.get(f"{topic.name}.dlq")
    return declared or dead_letters(topic, "records that could not be judged, as sent")


def full_name(topic: Topic, prefix: str = "") -> str:
    """Return the name on the log, e.g. `acme.apc.packets` for the prefix `acme.`."""
    return prefix + topic.name


def partitions_of(topic: Topic, partitions: int) -> int:
    """P for all topics but two kinds with one partition: dead letters, which are few, and those of
    a transparency log, which has one order."""
    has_one = topic.kind is TopicKind.DEAD_LETTER or topic in TRANSPARENCY
    return 1 if has_one else partitions


def config_of(topic: Topic) -> dict[str, str]:
    """Return the topic's broker settings, all explicit so that no broker default applies.

    Inputs carry the broker's time: a sender's clock must neither age a record out of its
    retention nor move deadlines.
    """
    config = {
        "cleanup.policy": "compact" if topic.compacted else "delete",
        "retention.ms": str(-1 if topic.retention_ms is None else topic.retention_ms),
        "retention.bytes": "-1",
        "max.message.bytes": str(topic.max_bytes),
        "message.timestamp.type": "LogAppendTime" if topic.is_input else "CreateTime",
    }
    if topic.compacted:
        config["delete.retention.ms"] = str(DELETE_RETENTION_MS)
    return config | dict(topic.config)
