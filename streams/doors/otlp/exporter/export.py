"""The exporter of one process, made from its settings.

Source: OTel guide, 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

from streams.doors.otlp.exporter.metrics import ExportMetrics, measuring_lag
from streams.doors.otlp.exporter.run import Exporter, Pipeline, exported_topics
from streams.doors.otlp.exporter.sdk import resource_attributes, sampler
from streams.doors.otlp.exporter.sender import Resource, Sender, Sent
from streams.engine.kafka import KafkaLog
from streams.engine.metrics import WorkerStatus
from streams.engine.metrics_server import serve_metrics
from streams.log.reading import partitions
from streams.protocols.commands import COMMANDS
from streams.settings.otlp_export import ExportSettings
from topology.acls import EXPORTERS_GROUP


class Options(NamedTuple):
    """The options of an export.

    group: the name of a group of its own, for a second backend.  from_end: a group that has read
    nothing yet begins at the ends of the topics.  until_end: stop at the ends that they have now.
    metrics_address: where its metrics and its state are served, host:port.  on_joined: called with
    the group's name; from then on no record is left out.
    """

    group: str | None = None
    from_end: bool = True
    until_end: bool = False
    metrics_address: str | None = None
    on_joined: Callable[[str], None] = lambda group: None


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

    Raises SettingsError, TopicsMismatch, BrokerUnavailable, AddressTaken.
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
    begins = ends if options.from_end else log.starts(tps)
    group = log.group(name, *topics, begins=begins)
    options.on_joined(name)
    metrics = ExportMetrics()
    sender = Sender(settings, resource, lambda seconds: exporter.wait(seconds, stopped), metrics)
    pipeline = Pipeline(
        prefix, meaning_of, is_sampled, sender.send, settings.batch_spans, settings.delay_s
    )
    exporter = Exporter(group, pipeline)

    def read_lag() -> int:
        starts, committed = log.starts(tps), log.committed(tps, name)
        return sum(
            max(0, end - max(starts[tp], committed.get(tp, 0))) for tp, end in log.ends(tps).items()
        )

    try:
        with (
            serve_metrics(
                options.metrics_address, metrics, lambda: WorkerStatus(assigned=exporter.joined)
            ),
            measuring_lag(metrics, read_lag) if options.metrics_address else nullcontext(),
        ):
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
