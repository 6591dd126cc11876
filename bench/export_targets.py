"""The targets of exports: as Parquet for SQL, and as spans; and of the spans that are received."""

from __future__ import annotations

from bench.targets import Target, of

_EXPORT, _AGAIN = "export, the others", "export, nothing new"
_FIGURES = (
    "protocols",
    "propagation",
    "transfer quality",
    "evaluation by crossing",
    "effectiveness",
)
TARGETS = (
    Target(
        "facts exported as Parquet per CPU-second",
        "analytics",
        of("records_per_cpu_s", run=_EXPORT),
        8000.0,
    ),
    Target("its memory, MB", "analytics", of("peak_mb", run=_EXPORT), 419.0, True),
    Target("an export with nothing new, s", "analytics", of("took_s", run=_AGAIN), 2.0, True),
    Target(
        "the effectiveness of all protocols by SQL, times as fast as by HTTP",
        "analytics",
        of("times", run="effectiveness by HTTP"),
        50.0,
    ),
    Target(
        "headrace sql over 1,000 files, s", "analytics", of("took_s", run="SELECT 1"), 1.0, True
    ),
    *(
        Target(f"{name} by SQL, s", "analytics", of("took_s", run=f"figure: {name}"), 1.0, True)
        for name in _FIGURES
    ),
    Target(
        "bytes of Parquet, of the broker's", "analytics", of("of_the_log", run="size"), 0.5, True
    ),
    Target("packets per CPU-second with tracing, of those without", "otlp", of("of_off"), 0.99),
    Target(
        "spans of gateway and worker per CPU-second",
        "otlp",
        of("spans_per_cpu_s", run="receiver and worker"),
        660.0,
    ),
    Target(
        "model calls that a gateway takes per CPU-second",
        "otlp",
        of("spans_per_cpu_s", run="gateway alone, model calls"),
        2500.0,
    ),
    Target(
        "spans exported per CPU-second",
        "otlp",
        of("spans_per_cpu_s", run="exporter, all at once"),
        10_000.0,
    ),
    Target(
        "append to backend at 1,000 packets/s, p99 ms",
        "otlp",
        of("p99_ms", run="exporter, 1000 packets/s"),
        2500.0,
        True,
    ),
    Target(
        "a client with empty spans, MB",
        "otlp",
        of("more_mb", run="empty spans, 1 clients"),
        67.0,
        True,
    ),
    Target(
        "20 such clients, MB", "otlp", of("more_mb", run="empty spans, 20 clients"), 524.0, True
    ),
)
