"""The part of the OpenAPI document for spans, beside their routes and responses."""

from __future__ import annotations

from streams.api.description import Description, PathId, envelope
from streams.api.problems import Code
from streams.protocols.otel.queries.traces import TRACE_UNKNOWN
from topology.otel import OTEL_EVENTS

DESCRIPTION = Description(
    tags={"otel": "Spans of OpenTelemetry, by trace."},
    http_rules=(Code(TRACE_UNKNOWN, 404, "No accepted span has this trace id."),),
    ids={"trace_id": PathId("4bf92f3577b34da6a3ce929d0e0e4736")},
    records=(OTEL_EVENTS,),
    bodies=(envelope("otel/span", "otel"),),
)
