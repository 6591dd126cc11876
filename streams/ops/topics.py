"""Topics on a log as the topology declares them: what is missing, what differs, creating them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.engine.log import Log, NewTopic
from streams.errors import SettingsError, TopicsMismatch
from streams.settings.service import ServiceSettings
from topology import topics
from topology.declarations import Topic
from topology.keeping import HOUR_MS


class Standing(StrEnum):
    """How a declared topic stands on a log."""

    MISSING = "missing"
    THERE = "there"
    MISMATCH = "mismatch"  # there, with another number of partitions


class PlannedTopic(NamedTuple):
    """name: in full, prefix included.  found: its partitions on the log, None if it is missing."""

    topic: Topic
    name: str
    partitions: int
    found: int | None

    @property
    def standing(self) -> Standing:
        if self.found is None:
            return Standing.MISSING
        return Standing.THERE if self.found == self.partitions else Standing.MISMATCH


def plan(log: Log, settings: ServiceSettings) -> list[PlannedTopic]:
    """Every declared topic against the log, in the order of their declaration."""
    there = log.topics()
    planned = []
    for topic in topics.ALL:
        name = topics.full_name(topic, settings.prefix)
        info = there.get(name)
        wanted = topics.partitions_of(topic, settings.partitions)
        planned.append(PlannedTopic(topic, name, wanted, info.partitions if info else None))
    return planned


def create_topics(log: Log, settings: ServiceSettings) -> list[PlannedTopic]:
    """Create what is missing; returns what was created, as it was planned.

    Raises TopicsMismatch, and creates nothing, when a topic has another number of partitions:
    keys would go elsewhere than the state that belongs to them.  Raises SettingsError when more
    replicas must be in sync than there are to be.
    """
    _refuse_unwritable(settings)
    planned = plan(log, settings)
    refuse_mismatch(planned, settings)
    missing = [one for one in planned if one.standing is Standing.MISSING]
    if missing:
        log.create([_new(one, settings) for one in missing])
    return missing


def require_topics(log: Log, settings: ServiceSettings) -> None:
    """Raises TopicsMismatch unless every declared topic is there with its partitions."""
    planned = plan(log, settings)
    refuse_mismatch(planned, settings)
    missing = [one.name for one in planned if one.standing is Standing.MISSING]
    if missing:
        raise TopicsMismatch(
            f"topics are missing: {', '.join(missing)}", advice="Run `headrace topics create`."
        )


def refuse_mismatch(planned: list[PlannedTopic], settings: ServiceSettings) -> None:
    differ = [one for one in planned if one.standing is Standing.MISMATCH]
    if differ:
        listed = ", ".join(f"{one.name} has {one.found}, not {one.partitions}" for one in differ)
        raise TopicsMismatch(
            f"partitions are fixed once a topic is created: {listed}",
            advice=f"Set HEADRACE_PARTITIONS (now {settings.partitions}) to what the topics have, "
            "or HEADRACE_PREFIX to a new prefix.",
        )


def config_of(topic: Topic, settings: ServiceSettings) -> dict[str, str]:
    """The broker's settings with which the topic is created."""
    config = topics.config_of(topic)
    hours = settings.retention_h().get(topic.name)
    if hours is not None:
        config |= {"retention.ms": str(hours * HOUR_MS)}
    if settings.min_insync_replicas is not None:
        config |= {"min.insync.replicas": str(settings.min_insync_replicas)}
    return config


def _refuse_unwritable(settings: ServiceSettings) -> None:
    replicas, in_sync = settings.replication_factor, settings.min_insync_replicas
    if replicas is not None and in_sync is not None and in_sync > replicas:
        raise SettingsError(
            f"HEADRACE_MIN_INSYNC_REPLICAS is {in_sync}, and HEADRACE_REPLICATION_FACTOR only"
            f" {replicas}: nothing could be written",
        )


def _new(planned: PlannedTopic, settings: ServiceSettings) -> NewTopic:
    config = config_of(planned.topic, settings)
    return NewTopic(planned.name, planned.partitions, config, settings.replication_factor)
