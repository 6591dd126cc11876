"""The neutral workload's table, headrace's figures as parts of each peer's, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.comparison_table import Run, median, of
from bench.comparison_table import rows as table_rows
from bench.results import Figure, text

OURS = "headrace"
PEERS = ("Kafka Streams", "Quix Streams", "stock Faust")
COLUMNS = {
    "events/s": ("throughput", "events_per_s"),
    "per CPU-second, whole life": ("throughput", "events_per_cpu_s"),
    "per CPU-second, warm half": ("throughput", "warm_per_cpu_s"),
    "peak MB": ("throughput", "peak_mb"),
    "p50 ms": ("latency", "p50_ms"),
    "p99 ms": ("latency", "p99_ms"),
    "pause s after kill -9": ("kill", "pause_s"),
    "duplicates": ("kill", "duplicates"),
}
"""Columns of the table: the step and its figure."""
MORE = ("events/s", "per CPU-second, whole life", "per CPU-second, warm half")
"""Columns where more is better; less is in the others."""
COMPARED = (*MORE, "peak MB", "p50 ms", "p99 ms", "pause s after kill -9")


def rows(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of the table."""
    return table_rows(runs, COLUMNS)


def ratio(runs: Sequence[Run], peer: str, column: str) -> float | None:
    """Return headrace's figure as a part of the peer's; None if one of them was not measured."""
    mine, theirs = (_figure(runs, name, column) for name in (OURS, peer))
    return float(mine) / float(theirs) if mine is not None and theirs else None


def _figure(runs: Sequence[Run], name: str, column: str) -> Figure | None:
    return median(of(runs, name), *COLUMNS[column])


def ratios(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    """Return a table with headrace's figures divided by each peer's."""
    lines = []
    for peer in PEERS:
        values = (ratio(runs, peer, column) for column in COMPARED)
        cells = ["–" if value is None else f"{value:.2f}" for value in values]
        lines.append([f"headrace / {peer}", *cells])
    return ["", *COMPARED], lines


def words(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each peer: who does more per CPU-second, and who is back sooner."""
    return [sentence for peer in PEERS for sentence in _sentences(runs, peer)]


def _sentences(runs: Sequence[Run], peer: str) -> Iterator[str]:
    whole, warm = (ratio(runs, peer, column) for column in MORE[1:])
    if whole is not None and warm is not None:
        yield (
            f"Per CPU-second headrace does {whole:.2f} times the events of {peer} over the whole"
            f" life of the process, and {warm:.2f} times once both are warm:"
            f" {_verdict(peer, whole, warm)}."
        )
    mine, theirs = (_figure(runs, name, "pause s after kill -9") for name in (OURS, peer))
    if mine is not None and theirs is not None:
        yield (
            f"After kill -9 of one of two workers headrace pauses for {text(mine)} s,"
            f" {peer} for {text(theirs)} s."
        )


def _verdict(peer: str, whole: float, warm: float) -> str:
    if whole >= 1 and warm >= 1:
        return "headrace is ahead"
    if whole < 1 and warm < 1:
        return f"{peer} is ahead"
    first, then = (OURS, peer) if whole >= 1 else (peer, OURS)
    return f"{first} is ahead in all, {then} once both are warm"
