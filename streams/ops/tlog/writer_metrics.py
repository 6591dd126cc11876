"""The metrics of the writer of the transparency log, counted at each round."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from streams.ops.tlog.writer import Round
from streams.telemetry.metrics import MetricDeclaration, create_metric

ROUNDS = MetricDeclaration(
    "headrace_audit_rounds_total",
    "counter",
    "Rounds of `headrace audit write`: `published`, `not_witnessed` without its quorum, or `idle`"
    " without anything new.",
    ("result",),
)
WITNESSES = MetricDeclaration(
    "headrace_audit_witness_answers_total",
    "counter",
    "Answers of witnesses to `headrace audit write`, by result; `witness_conflict`: it has cosigned"
    " another log.",
    ("witness", "result"),
)
ALL = (ROUNDS, WITNESSES)


class WriterMetrics:
    """The metrics of one writer."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._rounds = create_metric(ROUNDS, self.registry)
        self._witnesses = create_metric(WITNESSES, self.registry)

    def count(self, result: Round) -> None:
        """Count a round, and the answers of witnesses in it."""
        name = "published" if result.note is not None else "idle"
        self._rounds.labels("not_witnessed" if result.lacks_quorum else name).inc()
        for witness in result.witnesses:
            self._witnesses.labels(witness.name, str(witness.outcome)).inc()
