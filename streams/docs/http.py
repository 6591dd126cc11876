"""The page on figures, and the codes that HTTP alone has."""

from __future__ import annotations

from streams.docs.markdown import code, codes, grid
from streams.gateway import metrics
from streams.problems import HTTP_RULES


def metrics_page() -> str:
    rows = ((code(d.name), d.kind, codes(d.labels), d.meaning) for d in metrics.ALL)
    return (
        "# Metrics\n\n"
        "What a gateway exports at `/metrics`, in the Prometheus text format; there is nothing\n"
        f"else. The buckets of histograms end at {', '.join(map(str, metrics.BUCKETS_S))} s.\n\n"
        f"{grid(('metric', 'type', 'labels', 'meaning'), rows)}"
    )


def http_rules() -> str:
    rows = ((code(rule.code), rule.status, rule.meaning) for rule in HTTP_RULES)
    return (
        "\n## HTTP\n\n"
        "The member `rule` of problem details is a code of the envelope sent, with status 422, or\n"
        f"one of these.\n\n{grid(('code', 'status', 'meaning'), rows)}"
    )
