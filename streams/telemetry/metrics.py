"""Metrics: declared once, created from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

Kind = Literal["counter", "gauge", "histogram"]
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class MetricDeclaration(NamedTuple):
    """A metric's declaration.

    name: as exported.  read_at_export: the value is read at each export, not counted.
    """

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    read_at_export: bool = False


def create_metric(declaration: MetricDeclaration, registry: CollectorRegistry) -> Any:
    match declaration.kind:
        case "counter":
            return Counter(
                declaration.name, declaration.meaning, declaration.labels, registry=registry
            )
        case "gauge":
            return Gauge(
                declaration.name, declaration.meaning, declaration.labels, registry=registry
            )
        case "histogram":
            return Histogram(
                declaration.name,
                declaration.meaning,
                declaration.labels,
                registry=registry,
                buckets=BUCKETS_S,
            )


def metric_family(
    declaration: MetricDeclaration, values: Mapping[tuple[str, ...], float]
) -> Metric:
    """Build a metric from values read at export, by their labels."""
    make = CounterMetricFamily if declaration.kind == "counter" else GaugeMetricFamily
    family = make(declaration.name, declaration.meaning, labels=declaration.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
