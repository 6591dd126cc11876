"""What a metric is: declared once, made of its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

Kind = Literal["counter", "gauge", "histogram"]
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Declared(NamedTuple):
    """name: as exported.  asked: its value is asked for when it is exported, not counted here."""

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    asked: bool = False


def made(declared: Declared, registry: CollectorRegistry) -> Any:
    match declared.kind:
        case "counter":
            return Counter(declared.name, declared.meaning, declared.labels, registry=registry)
        case "gauge":
            return Gauge(declared.name, declared.meaning, declared.labels, registry=registry)
        case "histogram":
            return Histogram(
                declared.name,
                declared.meaning,
                declared.labels,
                registry=registry,
                buckets=BUCKETS_S,
            )


def asked_family(declared: Declared, values: Mapping[tuple[str, ...], float]) -> Metric:
    """The values of a metric that is asked for, by their labels."""
    make = CounterMetricFamily if declared.kind == "counter" else GaugeMetricFamily
    family = make(declared.name, declared.meaning, labels=declared.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
