"""The topics, tables, processor and lineage nodes of OpenTelemetry's spans."""

from __future__ import annotations

from topology.core import DROPPED_KEYS, LINEAGE_EDGES, RTES_RAW
from topology.declarations import (
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
)
from topology.keys import composite, member
from topology.retention import FACT_BYTES, LONG_BYTES, OTEL_SPANS_RETENTION_MS, dead_letters


def span_key(trace_id: str, span_id: str) -> str:
    """Return the key of a span's row, and its name in the lineage graph."""
    return composite(trace_id, span_id)


OTEL_SPANS = Topic(
    "otel.spans",
    TopicKind.COMMAND,
    "headrace.otel.OtelSpan",
    key="trace_id",
    key_of=member("trace_id"),
    meaning="spans of instrumented programs, masked",
    retention_ms=OTEL_SPANS_RETENTION_MS,
    max_bytes=FACT_BYTES,
    secret=True,
    headers=(DROPPED_KEYS,),
)
OTEL_EVENTS = Topic(
    "otel.events",
    TopicKind.FACT,
    "headrace.otel.OtelEvent",
    key="trace_id",
    key_of=member("trace_id"),
    meaning="the verdict on each span, and what the span says",
    max_bytes=LONG_BYTES,
)
OTEL_SPANS_DLQ = dead_letters(OTEL_SPANS, "spans that could not be judged, as masked text")

OTEL_SPANS_KNOWN = Table(
    "otel-spans",
    "headrace.otel.OtelSpanKnown",
    key="trace_id/span_id",
    meaning="the spans that were accepted, with the hash of each",
)
OTEL_TRACES = Table(
    "otel-traces",
    "headrace.otel.OtelTrace",
    key="trace_id",
    meaning="the traces whose spans are known, with the session of each",
)

OTEL_PROCESSOR = ProcessorDeclaration(
    "otel",
    "records each span once, and makes events of RTES of those of models, tools and tasks",
    inputs=(OTEL_SPANS,),
    outputs=(OTEL_EVENTS, RTES_RAW, LINEAGE_EDGES, OTEL_SPANS_DLQ),
    tables=(OTEL_SPANS_KNOWN, OTEL_TRACES),
)

DECLARED = ProtocolTopology(
    "otel",
    topics=(OTEL_SPANS, OTEL_EVENTS, OTEL_SPANS_DLQ),
    processors=(OTEL_PROCESSOR,),
    verdicts={OTEL_SPANS: (OTEL_EVENTS,)},
    node_kinds=(NodeKind("otel:span:<trace_id>/<span_id>", "a span of OpenTelemetry", True),),
)
