"""The targets of the project, and their comparison with the chosen results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.results import text
from streams.docs.markdown import code

Run = dict[str, Any]
Figure = Callable[[Sequence[Run]], float | None]
"""A figure computed from the runs of one benchmark; None if none of them has it."""


@dataclass(frozen=True)
class Target:
    """A target for a figure of a benchmark.

    bench: whose runs have the figure.  aim: the minimum, or the maximum where it is a bound.
    options: of its command, where its defaults do not give the figure.
    """

    what: str
    bench: str
    figure: Figure
    aim: float
    bound: bool = False
    options: str = ""

    @property
    def command(self) -> str:
        return f"python -m bench.{self.bench} {self.options}".rstrip()

    def row(self, runs: Sequence[Run]) -> list[str]:
        aim = f"at {'most' if self.bound else 'least'} {text(self.aim)}"
        value = self.figure(runs)
        if value is None:
            return [self.what, aim, "not measured", "–", code(self.command)]
        reached = value <= self.aim if self.bound else value >= self.aim
        return [self.what, aim, text(value), "yes" if reached else "**no**", code(self.command)]


def of(figure: str, **run: object) -> Figure:
    """Return a function for the median of a figure over the runs with these parameters."""

    def find(runs: Sequence[Run]) -> float | None:
        values = [
            one[figure]
            for one in runs
            if figure in one and all(one.get(name) == value for name, value in run.items())
        ]
        return statistics.median(values) if values else None

    return find


def largest(figure: str) -> Figure:
    """Return a function for the largest of a figure over all runs."""

    def find(runs: Sequence[Run]) -> float | None:
        return max((one[figure] for one in runs if figure in one), default=None)

    return find


def times(one: Figure, other: Figure) -> Figure:
    """Return a function for the ratio of one figure to the other."""

    def divided(runs: Sequence[Run]) -> float | None:
        above, below = one(runs), other(runs)
        return above / below if above is not None and below else None

    return divided


def minus(one: Figure, other: Figure) -> Figure:
    """Return a function for how much larger one figure is than the other."""

    def subtracted(runs: Sequence[Run]) -> float | None:
        above, below = one(runs), other(runs)
        return above - below if above is not None and below is not None else None

    return subtracted


_ALONE = {"run": "headrace", "workers": 1, "partitions": 4, "keys": 10_000}
_MANY = {"run": "headrace", "workers": 1, "partitions": 256}
_HITS = {"run": "hits, workers 1, partitions 4"}
_COPIED = {"run": "hits, workers 1, partitions 4, copies"}
_COPIES = "--copies off on"
_WHOLE, _WARM = "events_per_cpu_s", "warm_per_cpu_s"
_PER_CPU = "packets_per_cpu_s"
_START = "gateway's start"
_READ = "records_per_s"
_FIRST, _FAST = "first view", "tail, 1000 events/s"
_SCROLLED = "tail, scrolled from end to end"
_LIST, _GRAPH = "list, scrolled from end to end", "graph, zoomed and panned"
TARGETS = (
    Target("small records/s of one worker", "scaling", of("records_per_s", **_ALONE), 20_000.0),
    Target("the same, per CPU-second", "scaling", of("records_per_cpu_s", **_ALONE), 20_000.0),
    Target(
        "packets per CPU-second, of stock Faust's",
        "comparison",
        times(of(_PER_CPU, run="headrace"), of(_PER_CPU, run="stock Faust")),
        4.0,
    ),
    Target(
        "packet to verdict at 100/s, p50 ms",
        "latency",
        of("p50_ms", run="100 packets/s"),
        10.0,
        True,
    ),
    Target("the same, p99 ms", "latency", of("p99_ms", run="100 packets/s"), 40.0, True),
    Target(
        "three processors one behind the other at 50/s (a cached answer of SAP), p99 ms",
        "sap",
        of("p99_ms", run="hits, workers 1, partitions 4"),
        80.0,
        True,
    ),
    Target("records/s that a view applies", "view_apply", of("per_s", run="ideas: all"), 50_000.0),
    Target("small rows/s restored by one worker", "restore_rows", of("rows_per_s"), 150_000.0),
    Target("a worker's memory at rest, MB", "memory", of("rss_mb", run="at rest"), 250.0, True),
    Target(
        "valid JSON Schemas of ASAP's models, %",
        "coverage",
        of("percent", run="JSON Schemas of ASAP"),
        100.0,
    ),
    Target(
        "lines of the ASAP packages that tests run, %",
        "coverage",
        of("percent", run="the ASAP packages"),
        90.0,
    ),
    Target(
        "lines of the whole product that tests run, %",
        "coverage",
        of("percent", run="the whole product"),
        85.0,
    ),
    Target(
        "a round trip of ASAP in process, p99 ms",
        "asap",
        of("p99_ms", run="in process, one client"),
        50.0,
        True,
    ),
    Target(
        "the same through the log, p50 ms",
        "asap",
        of("p50_ms", run="on the log, one client"),
        50.0,
        True,
    ),
    Target(
        "the MCP tool state, beyond the route it stands on, p50 ms",
        "mcp",
        minus(of("p50_ms", run="tool state"), of("p50_ms", run="GET a thing")),
        2.0,
        True,
    ),
    Target(
        "the MCP tool send, of a POST and a query behind it, p50",
        "mcp",
        times(of("p50_ms", run="tool send"), of("p50_ms", run="POST and ?after=")),
        1.3,
        True,
    ),
    Target(
        "records/s of an MCP poll that matches nothing, of those of tail --json",
        "mcp",
        times(of(_READ, run="poll that matches nothing"), of(_READ, run="tail --json")),
        0.5,
    ),
    Target(
        "an MCP event to 200 streams, p99 ms", "mcp", of("p99_ms", run="200 streams"), 100.0, True
    ),
    Target(
        "memory of 500 idle MCP streams, MB",
        "mcp",
        of("memory_mb", run="500 idle streams"),
        64.0,
        True,
    ),
    Target(
        "the first page of 500 tools over MCP, p50 ms",
        "mcp",
        of("p50_ms", run="tools/list, first page"),
        20.0,
        True,
    ),
    Target(
        "what /mcp adds to the start of a gateway, s",
        "mcp",
        minus(of("median_s", run=_START), of("median_s", run=f"{_START} without /mcp")),
        1.0,
        True,
    ),
    Target("the console's first paint, ms", "console", of("painted_ms", run=_FIRST), 300.0, True),
    Target("its overview filled, ms", "console", of("filled_ms", run=_FIRST), 1000.0, True),
    Target("files of its first view, kB", "console", of("files_kb", run=_FIRST), 60.0, True),
    Target("all its files, gzip, kB", "console", of("size_kb", run="all files, gzip"), 250.0, True),
    *(
        Target(f"{what}, p99 ms", "console", of("p99_ms", run=f"route: {route}"), aim, True)
        for what, route, aim in (
            ("the route of the overview", "overview", 25.0),
            ("the same, not changed (304)", "overview, 304", 10.0),
            ("a list of 100 refusals", "verdicts, 100", 25.0),
            ("a list of 100 packets", "APC packets, 100", 25.0),
            ("a thing", "a thing", 25.0),
            ("a search", "search", 25.0),
        )
    ),
    *(
        Target(
            f"{what} over a view of a million rows, p99 ms",
            "console_rows",
            of("p99_ms", run=f"route: {route}"),
            aim,
            True,
        )
        for what, route, aim in (
            ("the route of the overview", "overview", 25.0),
            ("the same, not changed (304),", "overview, 304", 10.0),
            ("a list of 100 refusals", "verdicts, 100", 25.0),
            ("a list of 100 packets", "APC packets, 100", 25.0),
            ("a thing of 20 steps", "a thing of 20 steps", 25.0),
            ("a search", "search", 25.0),
        )
    ),
    Target("longest task of a page, ms", "console", of("longest_task_ms", run=_FAST), 200.0, True),
    Target(
        "the same, of processor time, ms",
        "console",
        of("longest_task_cpu_ms", run=_FAST),
        200.0,
        True,
    ),
    Target("its heap after that, MiB", "console", of("heap_mib", run=_FAST), 100.0, True),
    Target(
        "row elements of a tail that is scrolled",
        "console",
        of("row_elements", run=_SCROLLED),
        200.0,
        True,
    ),
    Target("its frames, p95 ms", "console", of("frame_p95_ms", run=_SCROLLED), 50.0, True),
    *(
        Target(what, "console", of(figure, run=run), aim, True)
        for what, run, figure, aim in (
            ("row elements of a list of 10,000 rows", _LIST, "row_elements", 200.0),
            ("its frames while it is scrolled, p95 ms", _LIST, "frame_p95_ms", 50.0),
            (
                "longest task of drawing a graph of 2,000 nodes, of processor time, ms",
                _GRAPH,
                "longest_task_cpu_ms",
                100.0,
            ),
            ("its frames while it is zoomed and panned, p95 ms", _GRAPH, "frame_p95_ms", 50.0),
        )
    ),
    Target(
        "ten open overviews, % of a core of the gateway",
        "console",
        of("percent_of_a_core", run="10 open overviews"),
        5.0,
        True,
    ),
    Target(
        "rules of accessibility that a page of the console breaks",
        "accessibility",
        largest("rules_broken"),
        0.0,
        True,
    ),
    Target(
        "a command of the terminal that asks the gateway, ms",
        "console",
        of("p50_ms", run="command: overview"),
        300.0,
        True,
    ),
)
_OURS = {"run": "headrace"}
_JVM = {"run": "Kafka Streams"}
SPEED = (
    Target(
        "small events per CPU-second, of Kafka Streams'",
        "peers",
        times(of(_WHOLE, **_OURS), of(_WHOLE, **_JVM)),
        1.2,
    ),
    Target(
        "the same once both are warm",
        "peers",
        times(of(_WARM, **_OURS), of(_WARM, **_JVM)),
        0.8,
    ),
    Target(
        "small events per CPU-second, of Quix Streams'",
        "peers",
        times(of(_WHOLE, **_OURS), of(_WHOLE, run="Quix Streams")),
        2.0,
    ),
    Target(
        "small events as facts, per CPU-second",
        "peers",
        of(_WHOLE, run="headrace, as a fact"),
        45_000.0,
    ),
    Target("packets per CPU-second", "comparison", of(_PER_CPU, run="headrace"), 12_000.0),
    Target(
        "tasks/s of SAP through the whole path", "sap", of("tasks_per_s", run="backlog"), 2500.0
    ),
    Target("a cached answer of SAP at 50/s, p99 ms", "sap", of("p99_ms", **_HITS), 25.0, True),
    Target("the same, ms of CPU each", "sap", of("cpu_ms_each", **_HITS), 3.0, True),
    Target(
        "a cached answer from a worker's copy, p99 ms",
        "sap",
        of("p99_ms", **_COPIED),
        25.0,
        True,
        _COPIES,
    ),
    Target("the same, ms of CPU each", "sap", of("cpu_ms_each", **_COPIED), 3.0, True, _COPIES),
    Target("one hop at 100/s, p50 ms", "peers", of("p50_ms", **_OURS), 5.0, True),
    Target("the same, p99 ms", "peers", of("p99_ms", **_OURS), 15.0, True),
    Target("pause after kill -9 of one of two, s", "peers", of("pause_s", **_OURS), 6.0, True),
    Target("threads of a worker, 256 partitions", "scaling", of("threads", **_MANY), 300, True),
    Target("its open files", "scaling", of("files", **_MANY), 1000, True),
    Target("its small records/s", "scaling", of("records_per_s", **_MANY), 35_000.0),
    Target(
        "ten million small rows restored, s",
        "restore_rows",
        of("took_s", run="restored by the worker"),
        15.0,
        True,
    ),
)
"""What is aimed at next, Kafka Streams among the peers: some of it is not reached yet."""
HEAD = ("", "aim", "measured", "reached", "command")


def rows(targets: Iterable[Target], results: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each of the targets."""
    runs = {one["bench"]: one["runs"] for one in results}
    return [target.row(runs.get(target.bench, ())) for target in targets]
