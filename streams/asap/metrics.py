"""The metrics of an ASAP server (ASAP guide, 6.2): a closed set, declared once."""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest

from streams.telemetry.metrics import MetricDeclaration, create_metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STARTED_AT = time.monotonic()

REQUESTS = MetricDeclaration(
    "asap_requests_total",
    "counter",
    "Requests answered, by status: `success` or `error`.",
    ("payload_type", "status"),
)
SUCCESSES = MetricDeclaration(
    "asap_requests_success_total",
    "counter",
    "Requests answered with an envelope.",
    ("payload_type",),
)
ERRORS = MetricDeclaration(
    "asap_requests_error_total",
    "counter",
    "Requests answered with an error, by its kind.",
    ("payload_type", "error_type"),
)
SECONDS = MetricDeclaration(
    "asap_request_duration_seconds",
    "histogram",
    "Time from the body of a request to its response, waits included.",
    ("payload_type", "status"),
)
UPTIME = MetricDeclaration(
    "asap_process_uptime_seconds", "gauge", "Time since the process loaded the server."
)
ALL = (REQUESTS, SUCCESSES, ERRORS, SECONDS, UPTIME)


class ServerMetrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        disable_created_metrics()  # they are not declared
        self._registry = CollectorRegistry()
        self._series: dict[str, Any] = {
            each.name: create_metric(each, self._registry) for each in ALL
        }
        self._series[UPTIME.name].set_function(lambda: time.monotonic() - _STARTED_AT)

    def observe_request(self, payload_type: str, error_type: str | None, took_s: float) -> None:
        """Count one request and its duration.  error_type: None for a success."""
        status = "success" if error_type is None else "error"
        self._series[REQUESTS.name].labels(payload_type, status).inc()
        self._series[SECONDS.name].labels(payload_type, status).observe(took_s)
        if error_type is None:
            self._series[SUCCESSES.name].labels(payload_type).inc()
        else:
            self._series[ERRORS.name].labels(payload_type, error_type).inc()

    def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        return generate_latest(self._registry)
