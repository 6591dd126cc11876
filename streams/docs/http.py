"""The page on figures, and the codes that HTTP alone has."""

from __future__ import annotations

from collections.abc import Iterable

from streams.api.description import Metrics
from streams.docs.markdown import code, codes, grid
from streams.doors.otlp.exporter import metrics as export_metrics
from streams.engine import metrics as worker_metrics
from streams.engine.metrics_server import SETTING
from streams.gateway import metrics
from streams.gateway.descriptions import ALL_HTTP_RULES, DESCRIPTIONS
from streams.ops.tlog import writer_metrics
from streams.telemetry.metrics import BUCKETS_S, MetricDeclaration


def metrics_page() -> str:
    return (
        "# Metrics\n\n"
        "Metrics that gateways, workers, exporters of spans and the audit writer export at\n"
        "`/metrics`, in the Prometheus text format.\n"
        "Topics are named without the prefix. The upper bounds of histogram buckets are\n"
        f"{', '.join(map(str, BUCKETS_S))} s.\n\n"
        "How to scrape them, a dashboard and alerts: [observability](../observability.md).\n\n"
        "## Gateway\n\n"
        f"{_declared(metrics.ALL)}\n"
        "## Worker\n\n"
        f"Served where `{SETTING}` says.\n\n"
        f"{_declared(worker_metrics.ALL)}\n"
        "## Exporter of spans\n\n"
        f"Served by `headrace export otlp` where `{SETTING}` or `--metrics` says.\n\n"
        f"{_declared(export_metrics.ALL)}\n"
        "## Writer of the transparency log\n\n"
        f"Of `headrace audit write` with a policy, served where `{SETTING}` says.\n\n"
        f"{_declared(writer_metrics.ALL)}"
        + "".join(_of_protocol(each.metrics) for each in DESCRIPTIONS if each.metrics is not None)
    )


def _of_protocol(protocol: Metrics) -> str:
    return f"\n## {protocol.title}\n\n{protocol.about}\n\n{_declared(protocol.declared)}"


def _declared(declared: Iterable[MetricDeclaration]) -> str:
    rows = ((code(d.name), d.kind, codes(d.labels), d.meaning) for d in declared)
    return grid(("metric", "type", "labels", "meaning"), rows)


def http_rules() -> str:
    rows = ((code(rule.code), rule.status, rule.meaning) for rule in ALL_HTTP_RULES)
    return (
        "\n## HTTP\n\n"
        "The member `rule` of problem details is a rule code of the envelope, with status 422, or\n"
        f"one of these.\n\n{grid(('code', 'status', 'meaning'), rows)}"
    )
