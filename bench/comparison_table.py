"""The one table of the comparison: a line per system, medians of its rounds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.results import Figure, text

Run = Mapping[str, Any]
COLUMNS = {
    "packets/s": ("throughput", "packets_per_s"),
    "packets per CPU-second": ("throughput", "packets_per_cpu_s"),
    "peak MB": ("throughput", "peak_mb"),
    "p50 ms": ("latency", "p50_ms"),
    "p99 ms": ("latency", "p99_ms"),
    "restored records/s": ("restore", "records_per_s"),
    "duplicates after kill -9": ("kill", "duplicates"),
    "losses": ("kill", "losses"),
    "pause s": ("kill", "pause_s"),
}
"""Columns of the table: the step of the comparison and its figure."""


def rows(
    runs: Sequence[Run], columns: Mapping[str, tuple[str, str]] = COLUMNS
) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of the table."""
    names = dict.fromkeys(str(run["run"]) for run in runs)
    head = ["", "delivery", *columns]
    return head, [[name, *_cells(of(runs, name), columns)] for name in names]


def of(runs: Sequence[Run], name: str) -> list[Run]:
    """Return the runs of one system."""
    return [run for run in runs if run["run"] == name]


def _cells(runs: Sequence[Run], columns: Mapping[str, tuple[str, str]]) -> list[str]:
    missing = [run["why"] for run in runs if run["step"] == "absent"]
    if missing:
        return [f"not measured: {missing[0]}", *["–"] * len(columns)]
    delivery = next((str(run["delivery"]) for run in runs if "delivery" in run), "")
    medians = (median(runs, *place) for place in columns.values())
    return [delivery, *("–" if value is None else text(value) for value in medians)]


def median(runs: Sequence[Run], step: str, figure: str) -> Figure | None:
    """Return the median of a figure over the runs of a step; None if none of them has it."""
    values = [run[figure] for run in runs if run["step"] == step and figure in run]
    return statistics.median(values) if values else None
