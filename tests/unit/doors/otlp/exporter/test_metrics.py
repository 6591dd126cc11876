"""The lag of a group of exporters, as its metrics say."""

from __future__ import annotations

import threading

from streams.doors.otlp.exporter.metrics import ExportMetrics, measuring_lag
from streams.errors import BrokerUnavailable

LAG = "headrace_otlp_export_lag_records"


def test_the_lag_is_read_while_the_export_runs() -> None:
    metrics, was_read = ExportMetrics(), threading.Event()

    def read_lag() -> int:
        was_read.set()
        return 7

    assert metrics.registry.get_sample_value(LAG) is None
    with measuring_lag(metrics, read_lag):
        assert was_read.wait(10)
    assert metrics.registry.get_sample_value(LAG) == 7


def test_the_lag_stays_while_the_broker_is_away() -> None:
    metrics, was_read = ExportMetrics(), threading.Event()
    metrics.lag = 5

    def read_lag() -> int:
        was_read.set()
        raise BrokerUnavailable("away")

    with measuring_lag(metrics, read_lag):
        assert was_read.wait(10)
    assert metrics.registry.get_sample_value(LAG) == 5
