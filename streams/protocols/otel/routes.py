"""The routes of spans (OTel guide, 6)."""

from __future__ import annotations

from streams.api.route import Produce, Query, Route
from streams.protocols.otel.queries import traces
from topology.otel import OTEL_SPANS

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/otel/spans",
        "send_otel_spans",
        Produce(OTEL_SPANS),
        "send spans in the form of otel.spans",
        body="otel/span",
    ),
    Route(
        "GET",
        "/v1/otel/traces",
        "list_otel_traces",
        Query(lambda call: traces.traces(call.view, call.params)),
        "traces, the newest first",
        traces.TRACES_PARAMS,
        "OtelTraces",
    ),
    Route(
        "GET",
        "/v1/otel/traces/{trace_id}",
        "get_otel_trace",
        Query(lambda call: traces.trace(call.view, call.ids["trace_id"], call.params)),
        "the spans of a trace",
        traces.PAGED,
        "OtelSpans",
        errors=(404,),
    ),
    Route(
        "GET",
        "/v1/otel/rejections",
        "list_otel_rejections",
        Query(lambda call: traces.rejections(call.view, call.params)),
        "refused spans, the newest first",
        traces.REJECTION_PARAMS,
        "OtelRejections",
    ),
)
