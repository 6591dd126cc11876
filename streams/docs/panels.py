"""Panels of the dashboard, and the queries that many of them have."""

from __future__ import annotations

from typing import NamedTuple

RATE = "[$__rate_interval]"


class Panel(NamedTuple):
    """A panel of the dashboard.

    queries: expression → legend.  unit: as Grafana calls it.  single: one number, not a line.
    """

    title: str
    says: str
    queries: dict[str, str]
    unit: str = "short"
    single: bool = False


def quantiles(metric: str, by: str = "") -> dict[str, str]:
    """Return queries for three quantiles of a histogram."""
    labels = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return {
        f"histogram_quantile(0.{q}, sum by ({labels}) (rate({metric}_bucket{RATE})))": f"p{q}"
        + legend
        for q in ("50", "95", "99")
    }


def rate(metric: str, *by: str, match: str = "") -> dict[str, str]:
    """Return a query for the rate per second, summed over processes."""
    legend = " ".join(f"{{{{{label}}}}}" for label in by)
    return {f"sum by ({', '.join(by)}) (rate({metric}{match}{RATE}))": legend}


EXPORT = (
    Panel(
        "Spans exported",
        "Taken by the backend; `refused`: by the status of its answer.",
        {f"sum(rate(headrace_otlp_exported_spans_total{RATE}))": "exported"}
        | {
            f"sum by (status) (rate(headrace_otlp_refused_spans_total{RATE}))": (
                "refused {{status}}"
            )
        },
        "ops",
    ),
    Panel(
        "Time of exports",
        "Of the requests that the backend of spans answered.",
        quantiles("headrace_otlp_export_seconds"),
        "s",
    ),
    Panel(
        "Export lag",
        "Records whose spans are not exported yet, of a group of exporters.",
        {"max by (instance) (headrace_otlp_export_lag_records)": "{{instance}}"},
    ),
)
"""Panels of the exporter of spans."""

TRANSPARENCY = (
    Panel(
        "Transparency log",
        "Its entries, and those under a published checkpoint.",
        {"max by (state) (headrace_tlog_entries)": "{{state}}"},
    ),
    Panel(
        "Time without a checkpoint",
        "Age of the oldest fact without a published entry in the transparency log.",
        {"max by (instance) (headrace_audit_unpublished_seconds)": "{{instance}}"},
        "s",
    ),
    Panel(
        "Faults of the transparency log",
        "`conflict`: a signed checkpoint is none of it. `refused`: records that did not count.",
        {
            "max by (instance) (headrace_tlog_conflict)": "{{instance}} conflict",
            "max by (instance) (headrace_tlog_refused_total)": "{{instance}} refused",
        },
    ),
    Panel(
        "Rounds of the audit writer",
        "`not_witnessed`: too few witnesses have cosigned.",
        rate("headrace_audit_rounds_total", "result"),
        "ops",
    ),
    Panel(
        "Answers of witnesses",
        "`witness_conflict`: it has cosigned another log.",
        rate("headrace_audit_witness_answers_total", "witness", "result"),
        "ops",
    ),
)
"""Panels of the transparency log."""
