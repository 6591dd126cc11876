"""The exporter of one process, made from its settings.

Source: OTel guide, 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

from streams.doors.otlp.exporter.run import Exporter, Pipeline, exported_topics
from streams.doors.otlp.exporter.sdk import resource_attributes, sampler
from streams.doors.otlp.exporter.sender import Resource, Sender, Sent
from streams.engine.kafka import KafkaLog
from streams.log.reading import partitions
from streams.protocols.commands import COMMANDS
from streams.settings.otlp_export import ExportSettings
from topology.acls import EXPORTERS_GROUP


class Options(NamedTuple):
    """The options of an export.

    group: the name of a group of its own, for a second backend.  from_end: a group that has read
    nothing yet begins at the ends of the topics.  until_end: stop at the ends that they have now.
    """

    group: str | None = None
    from_end: bool = True
    until_end: bool = False


class Exported(NamedTuple):
    """The result of an export.  is_complete: it was not stopped before the ends."""

    sent: Sent
    is_complete: bool


def group_name(prefix: str, name: str | None) -> str:
    """Return the consumer group in full."""
    return f"{prefix}{EXPORTERS_GROUP}" if name is None else f"{prefix}{EXPORTERS_GROUP}-{name}"


def export(
    log: KafkaLog,
    prefix: str,
    settings: ExportSettings,
    options: Options,
    stopped: Callable[[], bool],
) -> Exported:
    """Export spans until it is stopped, or until the ends.

    Raises SettingsError, TopicsMismatch, BrokerUnavailable.
    """
    topics = exported_topics(prefix)
    tps = partitions(log, topics)
    ends = log.ends(tps)
    is_sampled = sampler(settings.sampler, settings.sampler_argument)
    attributes = {
        "service.version": version("headrace"),
        "messaging.kafka.cluster.id": log.cluster_id(),
        **({"service.namespace": prefix} if prefix else {}),
    }
    resource = Resource(resource_attributes(attributes), version("headrace"))
    name = group_name(prefix, options.group)
    begins = {} if log.committed(tps, name) or not options.from_end else ends
    group = log.group(name, *topics, begins=begins)
    sender = Sender(settings, resource, lambda seconds: exporter.wait(seconds, stopped))
    pipeline = Pipeline(
        prefix, meaning_of, is_sampled, sender.send, settings.batch_spans, settings.delay_s
    )
    exporter = Exporter(group, pipeline)
    try:
        is_complete = exporter.run(stopped, ends if options.until_end else None)
    finally:
        group.close()
        sender.close()
    return Exported(exporter.sent, is_complete)


def meaning_of(rule: str, protocol: str) -> str | None:
    """Return what a rule of a protocol means, None if it is none of the protocol's."""
    return _meanings().get((protocol, rule))


@cache
def _meanings() -> Mapping[tuple[str, str], str]:
    return {
        (side.name, rule.code): rule.meaning
        for side in COMMANDS
        for rules in side.rules.values()
        for rule in rules
    }
