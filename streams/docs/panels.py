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
