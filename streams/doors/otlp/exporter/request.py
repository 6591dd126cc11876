"""Requests of OTLP with exported spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.doors.otlp.exporter.conventions import OUTGOING
from streams.doors.otlp.exporter.spans import ExportedSpan
from streams.doors.otlp.protobuf import (
    AnyValue,
    ExportTraceServiceRequest,
    KeyValue,
    Span,
    SpanStatus,
)
from streams.doors.otlp.spans import OWN_SCOPE

_SAMPLED = 1


def request_of(
    spans: Iterable[ExportedSpan],
    resource: Mapping[str, str | int],
    version: str,
    max_chars: int | None = None,
) -> ExportTraceServiceRequest:
    """Return the request of some spans.

    resource: its attributes.  version: of headrace.  max_chars: longer texts of attributes of spans
    are cut.
    """
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add(schema_url=OUTGOING.schema_url)
    resource_spans.resource.attributes.extend(_attributes(resource))
    scope_spans = resource_spans.scope_spans.add(schema_url=OUTGOING.schema_url)
    scope_spans.scope.name = OWN_SCOPE
    scope_spans.scope.version = version
    scope_spans.spans.extend(_encode(span, max_chars) for span in spans)
    return request


def _encode(span: ExportedSpan, max_chars: int | None) -> Span:
    message = Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id or ""),
        flags=_SAMPLED if span.flags is None else span.flags,
        name=span.name,
        kind=Span.SpanKind.Value(f"SPAN_KIND_{span.kind}"),
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_attributes(span.attributes, max_chars),
    )
    if span.failed:
        message.status.code = SpanStatus.STATUS_CODE_ERROR
        message.status.message = span.message
    return message


def _attributes(
    attributes: Mapping[str, str | int], max_chars: int | None = None
) -> list[KeyValue]:
    return [
        KeyValue(
            key=key,
            value=AnyValue(int_value=value)
            if isinstance(value, int)
            else AnyValue(string_value=value[:max_chars]),
        )
        for key, value in attributes.items()
    ]
