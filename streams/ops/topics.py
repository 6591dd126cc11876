"""The declared topics compared with those on a log: missing ones, differences, creation."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.engine.log import Log, NewTopic
from streams.errors import SettingsError, TopicsMismatch
from streams.settings.service import ServiceSettings
from topology import topics
from topology.declarations import Topic
from topology.retention import HOUR_MS


class TopicStatus(StrEnum):
    """The status of a declared topic on a log."""

    MISSING = "missing"
    THERE = "there"
    MISMATCH = "mismatch"  # it exists with another number of partitions


class PlannedTopic(NamedTuple):
    """A declared topic and its state on a log.

    name: in full, with the prefix.  partitions: as declared.
    existing_partitions: those on the log, None if the topic is missing.
    """

    topic: Topic
    name: str
    partitions: int
    existing_partitions: int | None

    @property
    def status(self) -> TopicStatus:
        if self.existing_partitions is None:
            return TopicStatus.MISSING
        return (
            TopicStatus.THERE
            if self.existing_partitions == self.partitions
            else TopicStatus.MISMATCH
        )


def plan(log: Log, settings: ServiceSettings) -> list[PlannedTopic]:
    """Compare every declared topic with the log, in the order of their declaration.

    The topics of a transparency log are among them if the settings name its policy.
    """
    existing = log.topics()
    planned = []
    for topic in topics.ALL if settings.tlog_policy is None else topics.EVERY:
        name = topics.full_name(topic, settings.prefix)
        info = existing.get(name)
        expected = topics.partitions_of(topic, settings.partitions)
        planned.append(PlannedTopic(topic, name, expected, info.partitions if info else None))
    return planned


def create_topics(log: Log, settings: ServiceSettings) -> list[PlannedTopic]:
    """Create the missing topics; return those that were created, as planned.

    Raises TopicsMismatch, and creates nothing, if a topic has another number of partitions: its
    keys would be in other partitions than the state that belongs to them.  Raises SettingsError if
    more replicas must be in sync than the topics will have.
    """
    _check_replication(settings)
    planned = plan(log, settings)
    refuse_mismatch(planned, settings)
    missing = [one for one in planned if one.status is TopicStatus.MISSING]
    if missing:
        log.create([_new_topic(one, settings) for one in missing])
    return missing


def require_topics(log: Log, settings: ServiceSettings) -> None:
    """Raise TopicsMismatch unless every declared topic exists with its partitions."""
    planned = plan(log, settings)
    refuse_mismatch(planned, settings)
    missing = [one.name for one in planned if one.status is TopicStatus.MISSING]
    if missing:
        raise TopicsMismatch(
            f"topics are missing: {', '.join(missing)}", advice="Run `headrace topics create`."
        )


def refuse_mismatch(planned: list[PlannedTopic], settings: ServiceSettings) -> None:
    differ = [one for one in planned if one.status is TopicStatus.MISMATCH]
    if differ:
        mismatches = ", ".join(
            f"{one.name} has {one.existing_partitions}, not {one.partitions}" for one in differ
        )
        raise TopicsMismatch(
            f"partitions are fixed once a topic is created: {mismatches}",
            advice=f"Set HEADRACE_PARTITIONS (now {settings.partitions}) to what the topics have, "
            "or HEADRACE_PREFIX to a new prefix.",
        )


def config_of(topic: Topic, settings: ServiceSettings) -> dict[str, str]:
    """Return the broker settings with which the topic is created."""
    config = topics.config_of(topic)
    hours = settings.retention_h().get(topic.name)
    if hours is not None:
        config |= {"retention.ms": str(hours * HOUR_MS)}
    if settings.min_insync_replicas is not None:
        config |= {"min.insync.replicas": str(settings.min_insync_replicas)}
    return config


def _check_replication(settings: ServiceSettings) -> None:
    replicas, in_sync = settings.replication_factor, settings.min_insync_replicas
    if replicas is not None and in_sync is not None and in_sync > replicas:
        raise SettingsError(
            f"HEADRACE_MIN_INSYNC_REPLICAS is {in_sync}, and HEADRACE_REPLICATION_FACTOR only"
            f" {replicas}: nothing could be written",
        )


def _new_topic(planned: PlannedTopic, settings: ServiceSettings) -> NewTopic:
    config = config_of(planned.topic, settings)
    return NewTopic(planned.name, planned.partitions, config, settings.replication_factor)
