"""The Grafana dashboard in deploy/grafana, made of a table of panels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streams.docs.panels import EXPORT, RATE, TRANSPARENCY, Panel, quantiles, rate

PATH = Path(__file__).resolve().parents[2] / "deploy/grafana/dashboards/headrace.json"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
_WIDE, _HIGH, _LOW = 24, 8, 4
_REJECTED = 'headrace_verdicts_total{verdict="rejected"}'


ROWS: dict[str, tuple[Panel, ...]] = {
    "At a glance": (
        Panel(
            "Processes up",
            "Workers and gateways that Prometheus reaches.",
            {'sum(up{job=~"headrace-.*"})': ""},
            single=True,
        ),
        Panel(
            "Tasks at work",
            "One for each partition, over all workers.",
            {'sum(headrace_tasks{state="ready"})': ""},
            single=True,
        ),
        Panel(
            "Records to be decided",
            "Lag of all tasks.",
            {"sum(headrace_task_lag_records)": ""},
            single=True,
        ),
        Panel(
            "Dead letters that wait",
            "`headrace dlq list` says why.",
            {"sum(max by (topic) (headrace_dlq_records))": ""},
            single=True,
        ),
        Panel("Kafka answers", "1 while it does.", {"min(headrace_broker_up)": ""}, single=True),
        Panel(
            "Clients that follow",
            "Of the live tail and of MCP, over all gateways.",
            {"sum(headrace_sse_clients) + sum(headrace_mcp_streams)": ""},
            single=True,
        ),
    ),
    "Verdicts": (
        Panel(
            "Verdicts by topic",
            "What became of what agents sent.",
            rate("headrace_verdicts_total", "topic", "verdict"),
            "ops",
        ),
        Panel(
            "Rejections by rule",
            "The ten rules that reject most.",
            {f"topk(10, sum by (topic, rule) (rate({_REJECTED}{RATE})))": "{{topic}} {{rule}}"},
            "ops",
        ),
        Panel(
            "Dead letters by code",
            "Records that could not be judged.",
            rate("headrace_dead_letters_total", "topic", "code"),
            "ops",
        ),
        Panel(
            "Dead letters that wait",
            "Kept, and not sent back.",
            {"max by (topic) (headrace_dlq_records)": "{{topic}}"},
        ),
    ),
    "Work": (
        Panel(
            "Records decided",
            "By processor.",
            rate("headrace_decided_records_total", "processor"),
            "ops",
        ),
        Panel("Lag", "By input.", {"sum by (topic) (headrace_task_lag_records)": "{{topic}}"}),
        Panel(
            "Deciding one transaction",
            "Time of the processors.",
            quantiles("headrace_batch_seconds"),
            "s",
        ),
        Panel(
            "Committing one transaction",
            "Kafka's time, and RocksDB's.",
            quantiles("headrace_commit_seconds"),
            "s",
        ),
        Panel(
            "Timers fired", "By processor.", rate("headrace_fired_timers_total", "processor"), "ops"
        ),
        Panel(
            "Timers late",
            "How long the earliest has been due.",
            {"max by (partition) (headrace_task_timer_delay_seconds)": "task {{partition}}"},
            "s",
        ),
        Panel(
            "Timers that wait for an input",
            "For its backlog or, where it has no lag, for a transaction open on it.",
            {
                "max by (topic, partition) (headrace_task_timer_gate_seconds) > 0": (
                    "{{topic}}/{{partition}}"
                )
            },
            "s",
        ),
    ),
    "State": (
        Panel(
            "RocksDB",
            "Of each task, and of copied tables.",
            {"max by (instance, store) (headrace_store_bytes)": "{{instance}} {{store}}"},
            "bytes",
        ),
        Panel(
            "Memory of RocksDB",
            "Write buffers and block cache of each worker and gateway.",
            {
                "max by (instance, use) (headrace_store_memory_bytes)": "{{instance}} {{use}}",
                "max by (instance, use) (headrace_view_memory_bytes)": "{{instance}} {{use}}",
            },
            "bytes",
        ),
        Panel(
            "Copies with a limit",
            "Bytes of their rows, by the setting with the limit.",
            {"max by (instance, setting) (headrace_copy_bytes)": "{{instance}} {{setting}}"},
            "bytes",
        ),
        Panel(
            "Keys left out of copies",
            "What has them is asked for as if there were no copy. Raise the limit if it is much.",
            {
                "sum by (instance, setting) (increase(headrace_copy_evicted_keys_total[5m]))": (
                    "{{instance}} {{setting}}"
                )
            },
        ),
        Panel(
            "Rows refused",
            "By reason. Any is a sign that somebody writes past the workers.",
            {
                "sum by (instance, topic, reason) (increase(headrace_rows_refused_total[5m]))": (
                    "{{instance}} {{topic}} {{reason}}"
                )
            },
        ),
        Panel(
            "Records skipped by views",
            "Those that no processor can have written.",
            {
                "sum by (instance) (increase(headrace_view_skipped_records_total[5m]))": (
                    "{{instance}}"
                )
            },
        ),
        Panel(
            "Last restore",
            "Time that a task took to open.",
            {"max by (partition) (headrace_task_restore_seconds)": "task {{partition}}"},
            "s",
        ),
        Panel(
            "Records restored",
            "Read from changelogs when a task was last opened.",
            {"max by (partition) (headrace_task_restored_records)": "task {{partition}}"},
        ),
        Panel(
            "Tasks opened again",
            "After failures, by code.",
            {
                "sum by (instance, code) (increase(headrace_task_reopens_total[5m]))": (
                    "{{instance}} {{code}}"
                )
            },
        ),
    ),
    "Gateways": (
        Panel(
            "Requests by status",
            "Answers.",
            rate("headrace_http_requests_total", "status"),
            "reqps",
        ),
        Panel(
            "Time to answer",
            "95 % of the requests of a route, streams left out.",
            {
                "histogram_quantile(0.95, sum by (le, method, route)"
                f" (rate(headrace_http_request_seconds_bucket{RATE})))": "{{method}} {{route}}"
            },
            "s",
        ),
        Panel(
            "Requests of MCP",
            "By method and outcome; `refused`: the error of a tool.",
            rate("headrace_mcp_requests_total", "method", "outcome"),
            "reqps",
        ),
        Panel(
            "Time of MCP",
            "95 % of the requests of a method.",
            {
                "histogram_quantile(0.95, sum by (le, method)"
                f" (rate(headrace_mcp_request_seconds_bucket{RATE})))": "{{method}}"
            },
            "s",
        ),
        Panel(
            "Events of MCP",
            "By mode; `cut`: polls that ended before the end of the log.",
            rate("headrace_mcp_events_total", "mode")
            | {f"sum(rate(headrace_mcp_scans_cut_total{RATE}))": "cut"},
            "ops",
        ),
        Panel(
            "Requests of A2A",
            "By operation and outcome.",
            rate("headrace_a2a_requests_total", "operation", "outcome"),
            "reqps",
        ),
        Panel(
            "Streams of A2A",
            "Open ones; how many go on at an event, and messages that are sent again, a second.",
            {"sum(headrace_a2a_streams)": "open"}
            | {
                f"sum(rate(headrace_a2a_{each}_total{RATE}))": each
                for each in ("resumes", "duplicates")
            },
        ),
        Panel(
            "Events posted",
            "Attempts to post events to addresses of clients, by door and result.",
            rate("headrace_push_deliveries_total", "door", "result"),
            "ops",
        ),
        Panel(
            "Subscriptions",
            "That events are posted for, by door and state; and how long the oldest event waits.",
            {
                "sum by (door, state) (headrace_push_subscriptions)": "{{door}} {{state}}",
                "max by (door) (headrace_push_lag_seconds)": "{{door}} waits, s",
            },
        ),
        Panel(
            "Spans received",
            "Over OTLP, by outcome and rule.",
            rate("headrace_otlp_spans_total", "outcome", "rule"),
            "ops",
        ),
        Panel(
            "Requests in flight",
            "By gateway.",
            {"sum by (instance) (headrace_http_requests_in_flight)": "{{instance}}"},
        ),
        Panel(
            "Records produced",
            "Confirmed by Kafka; `unknown`: the outcome is not known.",
            rate("headrace_produced_records_total", "topic")
            | {f"sum by (topic) (rate(headrace_produce_unknown_total{RATE}))": "{{topic}} unknown"},
            "ops",
        ),
        Panel(
            "View lag",
            "Offsets between the view's positions and the ends of its topics.",
            {"max by (instance) (headrace_view_lag_records)": "{{instance}}"},
        ),
        Panel(
            "View state",
            "1 for the state that a view is in.",
            {"max by (instance, state) (headrace_view_state) == 1": "{{instance}} {{state}}"},
        ),
        Panel(
            "Records applied",
            "By the view of each gateway.",
            rate("headrace_view_applied_records_total", "instance"),
            "ops",
        ),
        Panel(
            "Views at work",
            "Share of the time that a view spends in applying records.",
            rate("headrace_view_apply_seconds_total", "instance"),
            "percentunit",
        ),
        Panel(
            "Size of views",
            "On disk and in memory.",
            {"max by (instance) (headrace_view_rows_bytes)": "{{instance}}"},
            "bytes",
        ),
        Panel(
            "Views begun anew",
            "Copies that were read from the beginning of the log.",
            {"sum by (instance) (headrace_view_rebuilds_total)": "{{instance}}"},
        ),
        *EXPORT,
        *TRANSPARENCY,
    ),
}


def document() -> dict[str, Any]:
    """Return the dashboard in Grafana's JSON model."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        panels.append(_row(len(panels) + 1, title, y))
        y += 1
        for number, panel in enumerate(row):
            per_line = 6 if panel.single else 2
            width, height = _WIDE // per_line, _LOW if panel.single else _HIGH
            x, line = number % per_line * width, number // per_line
            place = {"x": x, "y": y + line * height, "w": width, "h": height}
            panels.append(_panel(len(panels) + 1, panel, place))
        y = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels)
    return {
        "uid": "headrace",
        "title": "headrace",
        "tags": ["headrace"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": []},
        "annotations": {"list": []},
        "panels": panels,
    }


def _row(id: int, title: str, y: int) -> dict[str, Any]:
    place = {"x": 0, "y": y, "w": _WIDE, "h": 1}
    return {
        "id": id,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": place,
        "panels": [],
    }


def _panel(id: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + n), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
        for n, (expr, legend) in enumerate(panel.queries.items())
    ]
    return {
        "id": id,
        "type": "stat" if panel.single else "timeseries",
        "title": panel.title,
        "description": panel.says,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {}
        if panel.single
        else {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": targets,
    }


def text() -> str:
    return json.dumps(document(), indent=1) + "\n"


def drift() -> list[str]:
    """Return the name of the file in a list if it differs from the panels declared here."""
    there = PATH.read_text(encoding="utf-8") if PATH.exists() else None
    return [] if there == text() else [PATH.name]


def write() -> None:
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(text(), encoding="utf-8")
