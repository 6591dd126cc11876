"""The metrics of a gateway: a closed set, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import Metric

from streams.engine.refused_rows import REFUSED
from streams.engine.refused_rows import metric as refused_metric
from streams.engine.store_metrics import declared, memory
from streams.gateway import log_metrics
from streams.gateway.log_metrics import LogMetrics
from streams.gateway.view_protocol import ViewProtocol
from streams.telemetry.metrics import MetricDeclaration, create_metric, metric_family
from streams.views.status import State

if TYPE_CHECKING:
    from streams.doors.push.sender import Figures

REQUESTS = MetricDeclaration(
    "headrace_http_requests_total",
    "counter",
    "Requests answered, by route template (`none`: no such path) and status.",
    ("method", "route", "status"),
)
SECONDS = MetricDeclaration(
    "headrace_http_request_seconds",
    "histogram",
    "Time from the request's headers to the end of the response; without streams.",
    ("method", "route"),
)
MCP_REQUESTS = MetricDeclaration(
    "headrace_mcp_requests_total",
    "counter",
    "Requests of MCP, by method and outcome: `ok`, `refused` (a tool's error) or `error`.",
    ("method", "outcome"),
)
MCP_SECONDS = MetricDeclaration(
    "headrace_mcp_request_seconds", "histogram", "Time of a request of MCP.", ("method",)
)
MCP_STREAMS = MetricDeclaration(
    "headrace_mcp_streams", "gauge", "Open streams of MCP, of events and of changes."
)
MCP_EVENTS = MetricDeclaration(
    "headrace_mcp_events_total",
    "counter",
    "Events given to MCP clients, by `poll`, `push` or `webhook`.",
    ("mode",),
)
MCP_SCANS_CUT = MetricDeclaration(
    "headrace_mcp_scans_cut_total",
    "counter",
    "Polls of MCP that ended before the end of the log, after HEADRACE_MCP_SCAN records or 1 s.",
)
A2A_REQUESTS = MetricDeclaration(
    "headrace_a2a_requests_total",
    "counter",
    "Requests of A2A, by operation and outcome: `ok` or `refused`.",
    ("operation", "outcome"),
)
A2A_STREAMS = MetricDeclaration(
    "headrace_a2a_streams", "gauge", "Streams of A2A that are open, and sends that wait."
)
A2A_RESUMES = MetricDeclaration(
    "headrace_a2a_resumes_total", "counter", "Streams of A2A that went on at an event."
)
A2A_DUPLICATES = MetricDeclaration(
    "headrace_a2a_duplicates_total",
    "counter",
    "Messages of A2A that were sent again, and not run again.",
)
SPANS = MetricDeclaration(
    "headrace_otlp_spans_total",
    "counter",
    "Spans received over OTLP, by outcome, `sent` or `refused`; `rule` is why, else `none`.",
    ("outcome", "rule"),
)
PUSH_DELIVERIES = MetricDeclaration(
    "headrace_push_deliveries_total",
    "counter",
    "Attempts to post an event to an address, by door (`mcp`, `a2a`) and result: `delivered`,"
    " `failed`, `too_large` (given up) or `gone`.",
    ("door", "result"),
)
PUSH_SUBSCRIPTIONS = MetricDeclaration(
    "headrace_push_subscriptions",
    "gauge",
    "Subscriptions that this gateway posts events for, by door and state: `active`, `suspended`"
    " or `ended`.",
    ("door", "state"),
)
PUSH_LAG = MetricDeclaration(
    "headrace_push_lag_seconds",
    "gauge",
    "Age of the oldest event that this gateway is trying to post, by door; 0 without one.",
    ("door",),
)
IN_FLIGHT = MetricDeclaration(
    "headrace_http_requests_in_flight", "gauge", "Requests in progress.", (), True
)
PRODUCED = MetricDeclaration(
    "headrace_produced_records_total", "counter", "Records that Kafka has acknowledged.", ("topic",)
)
UNKNOWN = MetricDeclaration(
    "headrace_produce_unknown_total",
    "counter",
    "Produce requests whose outcome is unknown.",
    ("topic",),
)
BROKER = MetricDeclaration("headrace_broker_up", "gauge", "1 while Kafka answers.", (), True)
STATE = MetricDeclaration(
    "headrace_view_state", "gauge", "1 for the state that the view is in.", ("state",), True
)
LAG = MetricDeclaration(
    "headrace_view_lag_records",
    "gauge",
    "Offsets between the view's positions and the ends of its topics.",
    (),
    True,
)
APPLIED = MetricDeclaration(
    "headrace_view_applied_records_total", "counter", "Records that the view applied.", (), True
)
APPLY = MetricDeclaration(
    "headrace_view_apply_seconds_total",
    "counter",
    "Time the view spent applying records, without waits.",
    (),
    True,
)
SKIPPED = MetricDeclaration(
    "headrace_view_skipped_records_total",
    "counter",
    "Records on fact and table topics that no processor can have written.",
    (),
    True,
)
REBUILDS = MetricDeclaration(
    "headrace_view_rebuilds_total", "counter", "Times the view was rebuilt from empty.", (), True
)
ROWS = MetricDeclaration(
    "headrace_view_rows_bytes", "gauge", "Approximate size of the view's rows.", (), True
)
CLIENTS = MetricDeclaration(
    "headrace_sse_clients", "gauge", "Clients that follow a stream.", (), True
)
DLQ = MetricDeclaration(
    "headrace_dlq_records",
    "gauge",
    "Dead letters that are stored and were not redriven.",
    ("topic",),
    True,
)
MEMORY = declared("headrace_view_memory_bytes")
ALL = (
    REQUESTS,
    SECONDS,
    MCP_REQUESTS,
    MCP_SECONDS,
    MCP_STREAMS,
    MCP_EVENTS,
    MCP_SCANS_CUT,
    A2A_REQUESTS,
    A2A_STREAMS,
    A2A_RESUMES,
    A2A_DUPLICATES,
    SPANS,
    PUSH_DELIVERIES,
    PUSH_SUBSCRIPTIONS,
    PUSH_LAG,
    IN_FLIGHT,
    PRODUCED,
    UNKNOWN,
    BROKER,
    STATE,
    LAG,
    APPLIED,
    APPLY,
    SKIPPED,
    REBUILDS,
    ROWS,
    CLIENTS,
    DLQ,
    MEMORY,
    REFUSED,
    *log_metrics.ALL,
)


class Sources(NamedTuple):
    """The functions that the gauges read when they are collected; none of them blocks.

    clients: returns the number of stream clients.  dead_letters: returns counts by topic.
    log_metrics: returns those of the transparency log.
    """

    view: ViewProtocol
    broker_up: Callable[[], bool]
    clients: Callable[[], int]
    in_flight: Callable[[], int]
    dead_letters: Callable[[], Mapping[str, int]]
    log_metrics: LogMetrics


class Metrics:
    """The metrics of one gateway, in a registry of their own."""

    def __init__(self, sources: Sources) -> None:
        disable_created_metrics()  # not declared in ALL
        self._registry = CollectorRegistry()
        self._registry.register(_GaugeCollector(sources))
        self._metrics = {
            d.name: create_metric(d, self._registry) for d in ALL if not d.read_at_export
        }
        self._labelled: dict[tuple[str, str, int], tuple[Counter, Histogram | None]] = {}
        self._mcp_events: dict[str, Counter] = {}

    def observe_request(self, method: str, route: str, status: int, took_s: float | None) -> None:
        """Count a request and observe its time.  took_s: None for a stream."""
        labelled = self._labelled.get((method, route, status))
        if labelled is None:
            requests = self._metrics[REQUESTS.name].labels(method, route, str(status))
            timed = took_s is not None
            seconds = self._metrics[SECONDS.name].labels(method, route) if timed else None
            labelled = self._labelled[method, route, status] = requests, seconds
        labelled[0].inc()
        if took_s is not None and labelled[1] is not None:
            labelled[1].observe(took_s)

    def observe_mcp(self, method: str, outcome: str, took_s: float) -> None:
        """Count a request of MCP, and observe its time."""
        self._metrics[MCP_REQUESTS.name].labels(method, outcome).inc()
        self._metrics[MCP_SECONDS.name].labels(method).observe(took_s)

    @contextmanager
    def count_mcp_stream(self) -> Iterator[None]:
        """Count a stream of MCP as open until the block is left."""
        with self._metrics[MCP_STREAMS.name].track_inprogress():
            yield

    def count_mcp_events(self, mode: str, count: int) -> None:
        """Count events that a client was given.  mode: `poll`, `push` or `webhook`."""
        if mode not in self._mcp_events:
            self._mcp_events[mode] = self._metrics[MCP_EVENTS.name].labels(mode)
        self._mcp_events[mode].inc(count)

    def count_mcp_scan_cut(self) -> None:
        self._metrics[MCP_SCANS_CUT.name].inc()

    def count_a2a(self, operation: str, outcome: str) -> None:
        """Count a request of A2A."""
        self._metrics[A2A_REQUESTS.name].labels(operation, outcome).inc()

    def count_a2a_streams(self, change: int) -> None:
        """Count streams of A2A that are opened (1) or closed (-1)."""
        self._metrics[A2A_STREAMS.name].inc(change)

    def count_a2a_resume(self) -> None:
        self._metrics[A2A_RESUMES.name].inc()

    def count_a2a_duplicate(self) -> None:
        self._metrics[A2A_DUPLICATES.name].inc()

    def count_spans(self, outcome: str, rule: str, count: int) -> None:
        """Count spans that were received over OTLP."""
        self._metrics[SPANS.name].labels(outcome, rule).inc(count)

    def count_push(self, door: str, result: str) -> None:
        """Count an attempt to post an event."""
        self._metrics[PUSH_DELIVERIES.name].labels(door, result).inc()

    def set_push(self, figures: Figures) -> None:
        """Show what this gateway posts events for."""
        subscriptions = self._metrics[PUSH_SUBSCRIPTIONS.name]
        for (door, state), count in figures.subscriptions.items():
            subscriptions.labels(door, state).set(count)
        for door, seconds in figures.lag_s.items():
            self._metrics[PUSH_LAG.name].labels(door).set(seconds)

    def count_produced(self, topic: str, count: int) -> None:
        self._metrics[PRODUCED.name].labels(topic).inc(count)

    def count_unknown(self, topic: str) -> None:
        self._metrics[UNKNOWN.name].labels(topic).inc()

    def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        return generate_latest(self._registry)


class _GaugeCollector:
    """A collector of values that other objects hold."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        status, stats = self._sources.view.status(), self._sources.view.stats()
        states: dict[tuple[str, ...], float] = {
            (state,): float(state == status.state) for state in get_args(State)
        }
        yield metric_family(IN_FLIGHT, {(): float(self._sources.in_flight())})
        yield metric_family(BROKER, {(): float(self._sources.broker_up())})
        yield metric_family(STATE, states)
        yield metric_family(LAG, {(): float(status.lag)})
        yield metric_family(APPLIED, {(): float(status.applied)})
        yield metric_family(APPLY, {(): stats.apply_s})
        yield metric_family(SKIPPED, {(): float(stats.skipped)})
        yield metric_family(REBUILDS, {(): float(stats.rebuilds)})
        yield metric_family(ROWS, {(): float(stats.rows_bytes)})
        yield metric_family(CLIENTS, {(): float(self._sources.clients())})
        yield memory(MEMORY)
        yield refused_metric()
        yield from self._sources.log_metrics()
        letters = self._sources.dead_letters()
        yield metric_family(DLQ, {(topic,): float(count) for topic, count in letters.items()})
