"""The metric of RocksDB's memory, for any process that has stores."""

from __future__ import annotations

from prometheus_client.core import Metric

from streams.engine.store import memory_use
from streams.telemetry.metrics import MetricDeclaration, metric_family


def declared(name: str) -> MetricDeclaration:
    """Declare the metric of one kind of process under the given name."""
    return MetricDeclaration(
        name,
        "gauge",
        "Memory that RocksDB holds in this process, by what for: `write_buffers` (about 16 MiB of"
        " each store, more for one large commit or an old snapshot) or `block_cache` (up to"
        " `HEADRACE_BLOCK_CACHE_MIB`, indexes and filters of the files among it).",
        ("use",),
        True,
    )


def memory(of: MetricDeclaration) -> Metric:
    return metric_family(of, {(use,): float(size) for use, size in memory_use()._asdict().items()})
