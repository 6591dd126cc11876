"""The metrics of the transparency log, read from the view at each export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from prometheus_client.core import Metric

from streams.errors import ViewNotReady
from streams.gateway.view_protocol import ViewProtocol
from streams.telemetry.metrics import MetricDeclaration, metric_family
from streams.view_store.transparency import LogStatus, TransparencyLog

ENTRIES = MetricDeclaration(
    "headrace_tlog_entries",
    "gauge",
    "Entries of the transparency log: all that are `sequenced`, and those `published`.",
    ("state",),
    True,
)
UNPUBLISHED = MetricDeclaration(
    "headrace_audit_unpublished_seconds",
    "gauge",
    "Age of the oldest fact without a published entry in the transparency log, to the minute;"
    " 0 without one.",
    (),
    True,
)
CONFLICT = MetricDeclaration(
    "headrace_tlog_conflict",
    "gauge",
    "1 if a signed checkpoint has a root that the transparency log does not have.",
    (),
    True,
)
REFUSED = MetricDeclaration(
    "headrace_tlog_refused_total",
    "counter",
    "Records on the topics of the transparency log that did not count.",
    (),
    True,
)
ALL = (ENTRIES, UNPUBLISHED, CONFLICT, REFUSED)
LogMetrics = Callable[[], Iterator[Metric]]


def make_log_metrics(
    view: ViewProtocol, log: TransparencyLog | None, clock: Callable[[], int]
) -> LogMetrics:
    """Return a function that reads the metrics; they have no values without a log or a view.

    clock: ms since the epoch.
    """
    return partial(_collect, view, log, clock)


def _collect(
    view: ViewProtocol, log: TransparencyLog | None, clock: Callable[[], int]
) -> Iterator[Metric]:
    status = None if log is None else _read_status(view, log)
    if status is None:
        yield from (metric_family(declaration, {}) for declaration in ALL)
        return
    entries: dict[tuple[str, ...], float] = {
        ("sequenced",): status.sequenced,
        ("published",): status.size,
    }
    since_ms = status.unpublished_ms
    unpublished_s = 0.0 if since_ms is None else max(0, clock() - since_ms) / 1000
    yield metric_family(ENTRIES, entries)
    yield metric_family(UNPUBLISHED, {(): unpublished_s})
    yield metric_family(CONFLICT, {(): float(status.conflict)})
    yield metric_family(REFUSED, {(): float(status.refused)})


def _read_status(view: ViewProtocol, log: TransparencyLog) -> LogStatus | None:
    try:
        with view.reader() as rows:
            return log.read_status(rows)
    except ViewNotReady:
        return None
