"""The metrics of an exporter of spans.

The lag is that of the whole consumer group, so each process of a group exports the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from streams.errors import HeadraceError
from streams.telemetry.metrics import MetricDeclaration, create_metric, metric_family

log = logging.getLogger(__name__)

EXPORTED = MetricDeclaration(
    "headrace_otlp_exported_spans_total", "counter", "Spans that the backend has taken."
)
REFUSED = MetricDeclaration(
    "headrace_otlp_refused_spans_total",
    "counter",
    "Spans that the backend has refused; with status 200 it took the others of the request.",
    ("status",),
)
SECONDS = MetricDeclaration(
    "headrace_otlp_export_seconds", "histogram", "Time of a request that the backend answered."
)
LAG = MetricDeclaration(
    "headrace_otlp_export_lag_records",
    "gauge",
    "Offsets between what the exporters of the group have exported and the ends of the topics.",
    (),
    True,
)
ALL = (EXPORTED, REFUSED, SECONDS, LAG)
_READ_EVERY_S = 2.0


class ExportMetrics:
    """The metrics of one exporter, in a registry of its own.  `lag` has no value until it is set.

    Any thread may count.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.lag: int | None = None
        self._exported = create_metric(EXPORTED, self.registry)
        self._refused = create_metric(REFUSED, self.registry)
        self._seconds = create_metric(SECONDS, self.registry)
        self.registry.register(self)

    def count_exported(self, count: int) -> None:
        self._exported.inc(count)

    def count_refused(self, status: int, count: int) -> None:
        self._refused.labels(str(status)).inc(count)

    def observe_request(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, as a collector of the registry does."""
        yield metric_family(LAG, {} if self.lag is None else {(): float(self.lag)})


@contextmanager
def measuring_lag(metrics: ExportMetrics, read_lag: Callable[[], int]) -> Iterator[None]:
    """Measure the lag every two seconds while the context lasts, in a thread of its own.

    While the broker does not answer, the last value stays.
    """
    stopped = threading.Event()

    def measure() -> None:
        while True:
            try:
                metrics.lag = read_lag()
            except HeadraceError as exc:
                log.warning("the lag of the export is not known: %s", exc.message)
            if stopped.wait(_READ_EVERY_S):
                return

    thread = threading.Thread(target=measure, name="export-lag", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
